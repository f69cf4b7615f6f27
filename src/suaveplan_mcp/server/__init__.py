"""The server: what it offers, how a callable becomes an offer, and how a call reaches it.

Only this side of a conversation lives here. No transport, no client and no I/O may enter.
"""

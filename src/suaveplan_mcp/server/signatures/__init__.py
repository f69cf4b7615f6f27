"""How a callable becomes an offer: its parameters as a schema and a decoder, its result as an encoder.

Everything is found out once, when the callable is registered. What a server does with an offer does not belong here.
"""

"""The rules of MCP: which revisions there are, which methods live in them, and what each era demands.

Still sans-IO. This room knows what the wire types mean and decides what may be said, when, and by whom. No transport,
task, clock or stream may enter it, and no date outside `revisions`.
"""

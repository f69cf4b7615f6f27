"""The client: it connects to one server, calls what that offers, and serves what that asks for.

`mcp_client` is the facade; beside it stands one file for each feature. A connection is opened in `connecting`, which is
the only file that knows how an era begins. Nothing may enter that does I/O, that knows a concrete transport, or that
belongs to the server's side.
"""

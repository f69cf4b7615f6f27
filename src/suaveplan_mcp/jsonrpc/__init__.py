"""JSON-RPC 2.0: messages, the codec between bytes and messages, and the connection state machine.

This room has never heard of MCP: no method name, no revision and no `_meta` may enter it. What a method means is told
to the connection by a `Rules` object. Nothing here does I/O, reads a clock or awaits.
"""

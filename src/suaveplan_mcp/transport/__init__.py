"""Ways to a peer: what a transport is, and ours in memory, over byte streams, over HTTP+SSE and Streamable HTTP.

A transport moves messages and knows nothing of what they mean: no method name and no handler's work may enter this
room. Everything that touches the machine (streams, fetch, an event source) is passed in; asyncio is here for futures,
tasks and the loop's own timers only.
"""

"""Streamable HTTP: every message of the client is a POST of its own. No sockets here, and no library that has them."""

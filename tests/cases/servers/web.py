"""The server of the field cases, for the command that serves it."""

from tests.cases.servers.field import make_server

server = make_server()

"""What an ASGI application is given, and the little that each of ours does with it."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, quote

from msgspec import Struct

Scope: TypeAlias = MutableMapping[str, Any]
"""What is known of a request before its body comes."""

AsgiMessage: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
Send: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]

AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# Everything that may stand in the path of a URL, beside letters and digits.
_PATH_CHARACTERS: Final = "/:@!$&'()*+,;=~"


class HttpRequest(Struct, frozen=True):
    """One HTTP request without its body.

    Args:
        method: in upper case, such as `GET`.
        path: where it goes inside the application, without a slash at its end.
        mount: the path, in the form of a URL, under which the outside reaches the application; empty for the root.
        headers: names in lower case; values of a repeated one are joined with commas.
        query: what follows the question mark.
        server: the address it arrived at, empty where the web server does not tell.
    """

    method: str
    path: str
    mount: str
    headers: Mapping[str, str]
    query: str
    server: str

    def query_value(self, name: str) -> str:
        """Return the first value of a query parameter; empty where it is absent."""
        return parse_qs(self.query).get(name, [""])[0]


def read_request(scope: Scope) -> HttpRequest:
    """Return what the scope of an HTTP request says."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    root: str = scope.get("root_path", "").rstrip("/")
    server = scope.get("server")
    return HttpRequest(
        method=scope["method"],
        path=_path_inside(scope["path"], root),
        mount=quote(root, safe=_PATH_CHARACTERS),
        headers=headers,
        query=scope.get("query_string", b"").decode("latin-1"),
        server=server[0] if server else "",
    )


def _path_inside(path: str, root: str) -> str:
    """Return the path without the part of `root` that stands at its beginning.

    That is all of it, as ASGI defines the two; none of it behind a proxy that has taken it away; and the end of it
    where such a proxy is in front of a framework that has the application mounted.
    """
    if not path.startswith("/"):
        # Some frameworks take the first slash away as well.
        path = f"/{path}"
    while root and not f"{path}/".startswith(f"{root}/"):
        _, slash, rest = root[1:].partition("/")
        root = slash + rest
    return path[len(root) :].rstrip("/")


async def answer_lifespan(receive: Receive, send: Send) -> None:
    """Take part in the start and the end of the process, in which nothing needs to be done."""
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return


async def respond(
    send: Send, status: int, text: str, headers: Mapping[str, str] | None = None, *, content_type: str = "text/plain"
) -> None:
    """Send a whole response; a client that has gone away does not mind that it gets none.

    Args:
        send: the application's `send`.
        status: the HTTP status.
        text: the body.
        headers: further headers.
        content_type: the type of the body, which is written in UTF-8.
    """
    body = text.encode()
    all_headers = {
        "content-type": f"{content_type}; charset=utf-8",
        "content-length": str(len(body)),
        **(headers or {}),
    }
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": encode_headers(all_headers)})
        await send({"type": "http.response.body", "body": body})


def encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Write headers as ASGI wants them."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


class BodyTooLargeError(Exception):
    """The body of a request is over the limit."""


class BodyCutOffError(Exception):
    """The client went away before the body was complete."""


async def read_body(receive: Receive, headers: Mapping[str, str], limit: int) -> bytes:
    """Return the body of a request.

    Args:
        receive: the application's `receive`.
        headers: the request's; a length that is over the limit is refused before anything is read.
        limit: the most bytes that are kept.

    Raises:
        BodyTooLargeError: it is longer than that.
        BodyCutOffError: the client went away.
    """
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise BodyTooLargeError
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BodyCutOffError
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise BodyTooLargeError
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)

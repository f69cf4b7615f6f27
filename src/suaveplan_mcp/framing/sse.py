"""Event streams (`text/event-stream`), read and written as the HTML standard defines them."""

from typing import Final

from msgspec import Struct

from suaveplan_mcp.framing.limits import FrameTooLarge, LimitedBuffer

_BOM: Final = b"\xef\xbb\xbf"
# What may stand before the data in its line, so that a line is dropped only when its data is over the limit.
_BEFORE_DATA: Final = len(_BOM) + len(b"data: ")
# More than any waiting time needs, and fewer than Python refuses to turn into a number.
_RETRY_DIGITS: Final = 15


class ServerSentEvent(Struct, frozen=True):
    r"""One event of a stream.

    Args:
        event: its type; `message` where the stream names none.
        data: its data lines, joined by `\n`. Bytes, because the decoder of the frame inside wants bytes. Empty where
            the stream has an empty `data` field, as in an event that only sets an id.
        id: the last event id of the stream when this event came; None as long as there was none.
        retry: the reconnection time in milliseconds this event set, None where it set none.
    """

    event: str
    data: bytes
    id: str | None = None
    retry: int | None = None


class SseDecoder:
    """Cut a byte stream into events.

    Args:
        limit: the most bytes the data of one event may have.

    Attributes:
        last_event_id: the id to resume from; events without data set it too, although they are not returned.
        retry: the stream's last reconnection time in milliseconds, set likewise.
    """

    __slots__ = (
        "_after_cr",
        "_at_start",
        "_data",
        "_event",
        "_event_retry",
        "_has_data",
        "_line",
        "last_event_id",
        "retry",
    )

    def __init__(self, limit: int) -> None:
        self._at_start = True
        self._after_cr = False
        self._line = LimitedBuffer(limit + _BEFORE_DATA)
        self._data = LimitedBuffer(limit)
        self._has_data = False
        self._event = b""
        self._event_retry: int | None = None
        self.last_event_id: str | None = None
        self.retry: int | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent | FrameTooLarge]:
        """Take the next bytes of the stream. An event that the end of the stream leaves unfinished is never returned.

        Args:
            chunk: any number of bytes.

        Returns:
            The events it completes, in order.
        """
        events: list[ServerSentEvent | FrameTooLarge] = []
        if not chunk:
            return events
        start = 1 if self._after_cr and chunk.startswith(b"\n") else 0
        self._after_cr = chunk.endswith(b"\r")
        # For bytes, these are exactly the three line ends of the standard.
        lines = chunk[start:].splitlines()
        rest = b"" if chunk.endswith((b"\r", b"\n")) else lines.pop()
        for end in lines:
            self._line.keep(end)
            self._complete_line(events)
        if rest:
            self._line.keep(rest)
        return events

    def _complete_line(self, events: list[ServerSentEvent | FrameTooLarge]) -> None:
        line = self._line.take()
        unkept = 0
        if isinstance(line, FrameTooLarge):
            line, unkept = line.start, line.size - len(line.start)
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            self._complete_event(events)
            return
        name, value = _split_field(line)
        if name == b"data":
            if self._has_data:
                self._data.keep(b"\n")
            self._has_data = True
            self._data.keep(value)
            self._data.skip(unkept)
        elif name and unkept:
            # What the event is cannot be told any more.
            self._data.skip(unkept + len(line))
        else:
            self._set_field(name, value)

    def _set_field(self, name: bytes, value: bytes) -> None:
        if name == b"event":
            self._event = value
        elif name == b"id":
            if b"\0" not in value:
                self.last_event_id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            self._event_retry = self.retry = int(value)

    def _complete_event(self, events: list[ServerSentEvent | FrameTooLarge]) -> None:
        data = self._data.take()
        if self._has_data:
            if isinstance(data, bytes):
                event = self._event.decode(errors="replace") or "message"
                data = ServerSentEvent(event, data, self.last_event_id, self._event_retry)
            events.append(data)
        self._has_data = False
        self._event = b""
        self._event_retry = None


def _split_field(line: bytes) -> tuple[bytes, bytes]:
    colon = line.find(b":")
    if colon < 0:
        return line, b""
    # One cut, not two: the value may be many megabytes.
    return line[:colon], line[colon + (2 if line.startswith(b": ", colon) else 1) :]


def encode_event(data: bytes, *, event: str | None = None, id: str | None = None, retry: int | None = None) -> bytes:
    r"""Write one event.

    Args:
        data: any bytes; a line break in it, of whichever kind, arrives as `\n`.
        event: its type, `message` when left out.
        id: the id a receiver resumes from.
        retry: the reconnection time in milliseconds.

    Raises:
        ValueError: the event or the id cannot be carried: it has a line break or a null character in it.
    """
    parts: list[bytes] = []
    if event is not None:
        parts.append(b"event: " + _field("event", event))
    if id is not None:
        parts.append(b"id: " + _field("id", id))
    if retry is not None:
        parts.append(b"retry: %d\n" % retry)
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\ndata: ")
    parts += (b"data: ", data, b"\n\n")
    return b"".join(parts)


def encode_comment(text: str) -> bytes:
    """Write a comment, which receivers ignore: it keeps a silent connection alive.

    Args:
        text: what a person sees in the stream; it may have several lines.
    """
    lines = text.encode().splitlines() or [b""]
    return b"".join(b": %b\n" % line for line in lines) + b"\n"


def _field(name: str, value: str) -> bytes:
    line = value.encode()
    if b"\n" in line or b"\r" in line or b"\0" in line:
        raise ValueError(f"the {name} of a server-sent event has a line break or a null character in it: {value!r}")
    return line + b"\n"

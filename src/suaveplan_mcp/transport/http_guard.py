"""Who may use a server over HTTP: the checks of `Host` and `Origin` that keep foreign web pages out.

A page may make its own name point to the machine of its reader, and then talk to servers there. Its requests
give it away: `Host` is the page's name, not the server's, and `Origin` says where the page is from.
Spec: transports, security warning
"""

import re
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from suaveplan_mcp.framing.limits import SAMPLE
from suaveplan_mcp.transport.base import logger

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""The longest body of a request, by default."""

_FORBIDDEN: Final = 403
_MISDIRECTED: Final = 421
_ANY: Final = "*"

_PLACE: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+?)\.?(?::(\d*|\*))?")
_ORIGIN: Final = re.compile(r"(?:([a-z][a-z0-9+.-]*)://)?(.+)")
_LOOPBACK: Final = re.compile(r"localhost|\[::1\]|127(?:\.\d{1,3}){3}")
_ADDRESS: Final = re.compile(r"\[.*\]|\d{1,3}(?:\.\d{1,3}){3}")
_DEFAULT_PORTS: Final = {"http": ("80",), "https": ("443",)}
_ANY_DEFAULT_PORT: Final = ("80", "443")


class Refusal(Struct, frozen=True):
    """Why a request is not served."""

    status: int
    text: str


class _Place(NamedTuple):
    """A host in lower case, an address of the newer kind in brackets; the port is empty where none is named."""

    name: str
    port: str

    def covers(self, other: "_Place", default_ports: Collection[str]) -> bool:
        """Tell whether this entry of a list covers the place that a request names."""
        ports = (other.port,) if other.port else default_ports
        return self.name == other.name and (not self.port or self.port in ports)

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine, seen from any machine."""
        return _LOOPBACK.fullmatch(self.name) is not None


class HttpGuard:
    """Tells which requests may be served.

    `Host` is checked on every request that arrives at a loopback address, and on all where `allowed_hosts` is given;
    without it a request that arrives at an address of the network is not checked, since its names are not known here.
    `Origin` is checked always, where there is one: browsers send it, other programs do not.

    Args:
        allowed_hosts: the names of this server, such as `"mcp.example.com"`; those of loopback are known. A port is
            optional: without one any will do. `"*"` allows any name.
        allowed_origins: web pages that may use the server, such as `"https://app.example.com"`, beside those of its own
            names. Scheme and port are optional. `"null"` allows pages without an origin, `"*"` any page.
        max_body_bytes: the longest body of a request.

    Raises:
        ValueError: an entry is no host or no origin.
    """

    __slots__ = ("_any_host", "_any_origin", "_hosts", "_origins", "_sandboxed", "max_body_bytes")

    def __init__(
        self,
        *,
        allowed_hosts: Collection[str] | None = None,
        allowed_origins: Collection[str] = (),
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._any_host = _ANY in (allowed_hosts or ())
        self._any_origin = _ANY in allowed_origins
        self._sandboxed = "null" in allowed_origins
        self._hosts = None if allowed_hosts is None else _parse_hosts(allowed_hosts)
        self._origins = _parse_origins(allowed_origins)
        self.max_body_bytes = max_body_bytes

    def check(self, headers: Mapping[str, str], server: str) -> Refusal | None:
        """Return why a request may not be served; None where it may.

        Args:
            headers: its headers, names in lower case.
            server: the address it arrived at, empty where that is not known.
        """
        refusal = self._check_host(headers.get("host"), server) or self._check_origin(headers, server)
        if refusal is not None:
            logger.warning("refused a request with %d: %s", refusal.status, refusal.text)
        return refusal

    def _check_host(self, host: str | None, server: str) -> Refusal | None:
        # A browser never leaves it out.
        if host is None or self._any_host or (self._hosts is None and _is_of_the_network(server)):
            return None
        place = _parse_place(host)
        if place is not None and (place.is_loopback or self._is_own(place, server)):
            return None
        text = f"{host[:SAMPLE]!r} is no name of this server; if it ought to be one, add it to `allowed_hosts`"
        return Refusal(_MISDIRECTED, text)

    def _check_origin(self, headers: Mapping[str, str], server: str) -> Refusal | None:
        origin = headers.get("origin")
        if origin is None or self._any_origin or self._is_allowed(origin, headers.get("host"), server):
            return None
        text = f"pages of {origin[:SAMPLE]!r} may not use this server; if they may, add it to `allowed_origins`"
        return Refusal(_FORBIDDEN, text)

    def _is_allowed(self, origin: str, host: str | None, server: str) -> bool:
        if origin == "null":
            return self._sandboxed
        scheme, place = _parse_origin(origin)
        if place is None:
            return False
        default_ports = _DEFAULT_PORTS.get(scheme, ())
        if any(
            of in ("", scheme) and entry.covers(place, default_ports) for of, entry in self._origins
        ) or self._is_own(place, server):
            return True
        # A page of this very machine may use a server of this machine, not one that is elsewhere.
        here = _parse_place(_bracket(server) if host is None else host)
        return place.is_loopback and here is not None and here.is_loopback

    def _is_own(self, place: _Place, server: str) -> bool:
        if place.name == _bracket(server.lower()):
            return True
        return any(entry.covers(place, _ANY_DEFAULT_PORT) for entry in self._hosts or ())


def _is_of_the_network(server: str) -> bool:
    """Tell whether a request came in where many names may lead: an address of the network, or a proxy's own socket."""
    address = _bracket(server)
    return server.startswith("/") or (_ADDRESS.fullmatch(address) is not None and _LOOPBACK.fullmatch(address) is None)


def _bracket(address: str) -> str:
    """Return an address as `Host` has it; one that only wraps an older one is that older one."""
    wrapped = address.removeprefix("::ffff:")
    return f"[{wrapped}]" if wrapped.count(":") > 1 and not wrapped.startswith("[") else wrapped


def _parse_place(text: str) -> _Place | None:
    match = _PLACE.fullmatch(text.strip().lower())
    return None if match is None else _Place(match[1], (match[2] or "").replace("*", ""))


def _parse_origin(text: str) -> tuple[str, _Place | None]:
    match = _ORIGIN.fullmatch(text.strip().lower())
    return ("", None) if match is None else (match[1] or "", _parse_place(match[2]))


def _parse_hosts(entries: Collection[str]) -> list[_Place]:
    places: list[_Place] = []
    for entry in entries:
        place = _parse_place(_bracket(entry.strip()))
        if place is None:
            raise ValueError(f"an entry of `allowed_hosts` is no host: {entry!r}; write a name, with or without a port")
        places.append(place)
    return places


def _parse_origins(entries: Collection[str]) -> list[tuple[str, _Place]]:
    origins: list[tuple[str, _Place]] = []
    for entry in entries:
        scheme, place = _parse_origin(entry.strip().removesuffix("/"))
        if place is None:
            raise ValueError(
                f"an entry of `allowed_origins` is no origin: {entry!r}; write one like 'https://app.example.com'"
            )
        origins.append((scheme, place))
    return origins

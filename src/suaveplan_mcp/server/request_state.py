"""What a server must not forget between the rounds of one call, sealed and given to the client to keep.

Spec: basic/patterns/mrtr

The client can read a state but for what was done once, and can change none of it. It is good for the same request of
the same principal, in the same revision, and for a while.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import inf
from struct import Struct as Layout
from typing import Any, Final, NoReturn, TypeAlias, cast

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder, Encoder

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.protocol.admission import invalid_params
from suaveplan_mcp.runtime.observation import logger
from suaveplan_mcp.server.signatures.optional_libraries import load

STATE_TTL: Final = 3600.0
"""For how many seconds a client may take to answer, where nobody said otherwise."""

MAX_STATE_BYTES: Final = 256 * 1024
"""How long a state may be, where nobody said otherwise."""

MIN_KEY_BYTES: Final = 32

RandomBytes: TypeAlias = Callable[[int], bytes]
"""Returns so many bytes that nobody can guess."""

WallClock: TypeAlias = Callable[[], float]
"""Returns the seconds since 1970 that every replica of a server agrees on."""

# What it is made by, which key sealed it, and until when it is good.
_head: Final = Layout(">B4sQ")
_PLAIN: Final = 1
_ENCRYPTED: Final = 2
_NONCE_BYTES: Final = 12
_SEAL_BYTES: Final = 32

_encoder: Final = Encoder()


class Memory(Struct, frozen=True, array_like=True, omit_defaults=True):
    """What is known of a call after its rounds so far.

    Args:
        rounds: how often its client was asked.
        asked: the digests of the questions that were asked last, by name.
        answers: the digest of the question and the answer, by name, of what was asked before.
        once: what was done once, by the keys the handler gave.
        private: whether one of the answers is the server's own, and no business of the client's.
    """

    rounds: int = 0
    asked: dict[str, str] = field(default_factory=dict[str, str])
    answers: dict[str, tuple[str, Raw]] = field(default_factory=dict[str, tuple[str, Raw]])
    once: dict[str, Raw] = field(default_factory=dict[str, Raw])
    private: bool = False

    @property
    def secret(self) -> bool:
        """Whether it holds what was not said to the client, or by it."""
        return self.private or bool(self.once)


_decoder: Final = Decoder(Memory)


class Cipher:
    """Encrypts with one key; made anew for every state, which is cheap.

    Args:
        key: the key of the ring.

    Raises:
        MissingLibraryError: the library that does it is not installed.
    """

    __slots__ = ("_aead",)

    def __init__(self, key: bytes) -> None:
        primitives = "cryptography.hazmat.primitives"
        aead, hashes = load(f"{primitives}.ciphers.aead", "auth"), load(f"{primitives}.hashes", "auth")
        derive = load(f"{primitives}.kdf.hkdf", "auth").HKDF
        # A key of its own: the same one must not both sign and encrypt.
        self._aead: Any = aead.AESGCM(derive(hashes.SHA256(), 32, None, b"suaveplan-mcp requestState").derive(key))

    def encrypt(self, nonce: bytes, plain: bytes) -> bytes:
        """Return what only `decrypt` can read."""
        return nonce + cast("bytes", self._aead.encrypt(nonce, plain, None))

    def decrypt(self, encrypted: bytes) -> bytes:
        """Return what was encrypted; it was signed, so it is as it was made."""
        return cast("bytes", self._aead.decrypt(encrypted[:_NONCE_BYTES], encrypted[_NONCE_BYTES:], None))


class RequestStates:
    """Seals and opens the states of a server.

    Args:
        keys: the first seals, all of them open, each at least 32 bytes; the replicas of a server must have the same.
            By default one of its own, so that states end with the server.
        ttl: for how many seconds a client may take to answer.
        max_bytes: how long a state may be.
        random_bytes: makes what nobody can guess.
        wall_clock: tells the time that replicas agree on.

    Raises:
        MCPError: `INVALID_PARAMS`, an option cannot be used; the error names it.
    """

    __slots__ = ("_keys", "_max_bytes", "_random_bytes", "_ttl", "_wall_clock")

    def __init__(
        self,
        keys: Sequence[bytes] | None = None,
        *,
        ttl: float = STATE_TTL,
        max_bytes: int = MAX_STATE_BYTES,
        random_bytes: RandomBytes | None = None,
        wall_clock: WallClock | None = None,
    ) -> None:
        if keys is not None:
            _require_keys(keys)
        if not 0 < ttl < inf:
            raise invalid_params("state_ttl", "expected a finite number of seconds above 0")
        if max_bytes < 1:
            raise invalid_params("max_state_bytes", "expected a number above 0")
        # By their names, in the order in which they are to be used.
        self._keys: dict[bytes, bytes] = {_name_of(key): key for key in keys or ()}
        self._ttl = ttl
        self._max_bytes = max_bytes
        self._random_bytes = random_bytes or _random_bytes
        self._wall_clock = wall_clock or _utc

    def require_secrecy(self) -> None:
        """Make sure that a memory with secrets can be sealed.

        Raises:
            MissingLibraryError: the library that encrypts is not installed.
        """
        Cipher(self._sealing_key())

    def seal(self, memory: Memory, binding: bytes) -> str:
        """Return a state that gives the memory back.

        Args:
            memory: what is known so far.
            binding: what must be the same when it comes back.

        Raises:
            MCPError: `INTERNAL_ERROR`, it is too much.
        """
        key, body = self._sealing_key(), _encoder.encode(memory)
        kind = _PLAIN
        if memory.secret:
            kind, body = _ENCRYPTED, Cipher(key).encrypt(self._random_bytes(_NONCE_BYTES), body)
        head = _head.pack(kind, _name_of(key), int(self._wall_clock() + self._ttl))
        text = _text(head + body + _seal(key, binding, head, body))
        if len(text) > self._max_bytes:
            reason = f"it would take {len(text)} bytes, and may have {self._max_bytes} (max_state_bytes)"
            raise MCPError(MCP_CODES.INTERNAL_ERROR, f"the requestState of the call is too long: {reason}")
        return text

    def open(self, text: str, binding: bytes) -> Memory:
        """Return the memory that a state was made of.

        Args:
            text: what the client sent back.
            binding: what must be the same as when it was sealed.

        Raises:
            MCPError: `INVALID_PARAMS`, it is none of ours, not for this request, or too old.
        """
        if len(text) > self._max_bytes:
            _refuse("it is longer than max_state_bytes")
        try:
            data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            _refuse("it is no base64url")
        # The decoder skips what is none, and ignores the bits that are left over at the end.
        if _text(data) != text or len(data) < _head.size + _SEAL_BYTES:
            _refuse("it was changed")
        head, body, seal = data[: _head.size], data[_head.size : -_SEAL_BYTES], data[-_SEAL_BYTES:]
        kind, name, expiry = cast("tuple[int, bytes, int]", _head.unpack(head))
        key = self._keys.get(name)
        if key is None:
            _refuse("no key of state_keys has sealed it")
        if not hmac.compare_digest(seal, _seal(key, binding, head, body)):
            _refuse("it was changed, or belongs to another request, principal or revision")
        if expiry < self._wall_clock():
            _refuse("it is older than state_ttl")
        try:
            return _decoder.decode(Cipher(key).decrypt(body) if kind == _ENCRYPTED else body)
        except DecodeError:
            _refuse("it is one of another version of this library")

    def _sealing_key(self) -> bytes:
        if not self._keys:
            key = self._random_bytes(MIN_KEY_BYTES)
            self._keys[_name_of(key)] = key
        return next(iter(self._keys.values()))


def _require_keys(keys: Sequence[bytes]) -> None:
    if isinstance(keys, bytes | str) or not keys:
        raise invalid_params("state_keys", "expected a list of keys that is not empty")
    for position, key in enumerate(keys):
        if not isinstance(key, bytes) or len(key) < MIN_KEY_BYTES:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid_params(f"state_keys[{position}]", f"expected at least {MIN_KEY_BYTES} bytes")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _seal(key: bytes, binding: bytes, head: bytes, body: bytes) -> bytes:
    # The binding and the head have fixed lengths, so no two different triples give the same bytes.
    return hmac.digest(key, binding + head + body, "sha256")


def _name_of(key: bytes) -> bytes:
    return hmac.digest(key, b"suaveplan-mcp key name", "sha256")[:4]


def _refuse(why: str) -> NoReturn:
    """Refuse a state. The client is not told why: it may be an attacker."""
    logger.info("a requestState was refused: %s", why)
    raise invalid_params("requestState", "this cannot be used for this request now; send the request again without it")


def _random_bytes(size: int) -> bytes:
    # Loaded when first needed: it takes longer to load than the rest of this room.
    return cast("bytes", load("secrets", "all").token_bytes(size))


def _utc() -> float:
    return datetime.now(UTC).timestamp()

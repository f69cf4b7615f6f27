"""What a handler may ask of the client, and how it waits for the answer.

Spec: client/elicitation, client/sampling, client/roots

An ask is data, so that a revision in which it travels inside a result can carry it as well as one in which it is a
request of its own.
"""

import asyncio
import concurrent.futures
import re
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Generic, TypeAlias, TypedDict, TypeVar, Unpack, cast

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, Encoder
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.complaints import explain
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.server.connections import is_running
from suaveplan_mcp.server.elicitation import form_of
from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.elicitation import ElicitRequestParams, ElicitResult
from suaveplan_mcp.types.roots import ListRootsResult
from suaveplan_mcp.types.sampling import (
    CreateMessageRequestParams,
    CreateMessageResult,
    IncludeContext,
    ModelPreferences,
    SamplingMessage,
    ToolChoice,
)
from suaveplan_mcp.types.tools import Tool

T = TypeVar("T")
P = TypeVar("P")

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
LIST_ROOTS: Final = "roots/list"

AskParams: TypeAlias = ElicitRequestParams | CreateMessageRequestParams | RequestParams
AskResult: TypeAlias = ElicitResult | CreateMessageResult | ListRootsResult

_WEB_ADDRESS: Final = re.compile(r"https?://[^\s/?#]+([/?#]\S*)?", re.IGNORECASE)

_KINDS: Final = {ELICIT: "elicitation", SAMPLE: "sampling", LIST_ROOTS: "roots"}

_canonical: Final = Encoder(order="sorted")
_elicitation: Final = Decoder(ElicitRequestParams)
_sampling: Final = Decoder(CreateMessageRequestParams)


class Ask(Struct, frozen=True):
    """One question to the client; build it with `elicitation`, `sampling` or `roots`.

    Args:
        method: the method.
        params: its params.
        key: names the question among those of one handler.
    """

    method: str
    params: AskParams
    key: str | None = None


class AskError(MCPError):
    """A question that cannot be put to the client, or an answer that is none to it.

    It concerns the handler that asked, not the caller of the handler. Its code is `INVALID_PARAMS` for a malformed
    question, `METHOD_NOT_FOUND` for one that the client has not declared to answer, `PROTOCOL_INVALID` for the answer.
    """


class Names:
    """The names of the questions of one run of a handler. A handler that is run again asks under the same names."""

    __slots__ = ("_digests",)

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def name(self, ask: Ask) -> tuple[str, str]:
        """Give a question its name: its key, with a number where it has none or asks the same again.

        Returns:
            The name, and what tells the question from others.

        Raises:
            AskError: `INVALID_PARAMS`, its key is that of another question.
        """
        digest, key = digest_of(ask), ask.key
        stem, number = key if key is not None else _KINDS[ask.method], 1
        name = key if key is not None else f"{stem}-1"
        if key is not None and self._digests.get(key, digest) != digest:
            raise malformed("key", f"{key!r} is the key of another question that this handler asked")
        while name in self._digests:
            number += 1
            name = f"{stem}-{number}"
        self._digests[name] = digest
        return name, digest


class Answer(Generic[T]):
    """An answer to come. A coroutine awaits it; a plain handler, which runs in a thread, calls `wait()`."""

    __slots__ = ("_ask", "_loop")

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, T]], loop: asyncio.AbstractEventLoop) -> None:
        self._ask = ask
        self._loop = loop

    def __await__(self) -> Generator[Any, None, T]:
        """Ask, and wait for the answer; in a thread's own loop as well."""
        if is_running(self._loop):
            return self._ask().__await__()
        return asyncio.wrap_future(self._ask_from_elsewhere()).__await__()

    def wait(self) -> T:
        """Ask, and block this thread until the answer is there.

        Raises:
            RuntimeError: this is the server's own event loop, which would wait for itself; `await` instead.
        """
        if is_running(self._loop):
            raise RuntimeError("wait() would block the event loop; await the answer instead")
        return self._ask_from_elsewhere().result()

    def _ask_from_elsewhere(self) -> "concurrent.futures.Future[T]":
        return asyncio.run_coroutine_threadsafe(self._ask(), self._loop)


class SamplingOptions(TypedDict, total=False):
    """What else `sampling` may be told; the fields of `CreateMessageRequestParams`."""

    model_preferences: ModelPreferences | None
    system_prompt: str | None
    include_context: IncludeContext | None
    temperature: float | None
    stop_sequences: list[str] | None
    metadata: JsonObject | None
    tools: list[Tool] | None
    tool_choice: ToolChoice | None


def elicitation(
    message: str, schema: object = None, *, url: str | None = None, elicitation_id: str | None = None
) -> Ask:
    """Ask the user, by a form or at an address.

    Args:
        message: what the user reads.
        schema: the form: a JSON Schema object of primitive properties, or a class whose fields are the form's. None
            asks for a plain yes or no.
        url: an address to visit instead of a form.
        elicitation_id: names the visit, for the notice that it is done; one is made up where none is given.

    Raises:
        AskError: `INVALID_PARAMS`, the schema is more than a form may hold, or there is a URL as well, or it is none;
            the error names the place.
    """
    if url is None:
        params: JsonObject = {"message": message, "requestedSchema": _form_schema(schema)}
    elif schema is None:
        if _WEB_ADDRESS.fullmatch(url) is None:
            raise malformed("url", f"{url!r} is no address of the web, such as `https://pay.example/1`")
        params = {"mode": "url", "message": message, "url": url}
        if elicitation_id is not None:
            params["elicitationId"] = elicitation_id
    else:
        raise malformed("url", "a question has either a form or an address")
    return Ask(ELICIT, _checked(_elicitation, params))


def sampling(
    messages: str | Sequence[SamplingMessage | Mapping[str, object]],
    *,
    max_tokens: int = 1000,
    **options: Unpack[SamplingOptions],
) -> Ask:
    """Ask the client's model.

    Args:
        messages: the conversation; a string is one message of the user's.
        max_tokens: how many tokens the model may take.
        options: see `SamplingOptions`.

    Raises:
        AskError: `INVALID_PARAMS`, naming the field that does not fit.
    """
    if isinstance(messages, str):
        messages = [SamplingMessage(role="user", content=TextContent(text=messages))]
    # What a caller gives as plain JSON is given its type by the check.
    conversation = cast("list[SamplingMessage]", list(messages))
    return sampling_of(CreateMessageRequestParams(messages=conversation, max_tokens=max_tokens, **options))


def sampling_of(params: CreateMessageRequestParams | Mapping[str, object]) -> Ask:
    """Ask the client's model with params that are complete already, as a struct or a mapping of its shape.

    Raises:
        AskError: `INVALID_PARAMS`, naming the field that does not fit.
    """
    return Ask(SAMPLE, _checked(_sampling, params))


def roots() -> Ask:
    """Ask for the client's roots."""
    return Ask(LIST_ROOTS, RequestParams())


def without_visit(ask: Ask) -> Ask:
    """Return a question without the name of the visit that it sends the user to. The stateless era has no such name."""
    params = ask.params
    if isinstance(params, ElicitRequestParams) and params.elicitation_id is not None:
        return replace(ask, params=replace(params, elicitation_id=None))
    return ask


def digest_of(ask: Ask) -> str:
    """Return what tells a question from others; neither its key nor the name of a visit does."""
    return sha256(_canonical.encode((ask.method, without_visit(ask).params))).hexdigest()[:32]


def _form_schema(schema: object) -> JsonValue:
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, type):
        return cast("JsonValue", schema)
    try:
        return form_of(schema)
    except (TypeError, NameError, MissingLibraryError) as error:
        raise malformed("requestedSchema", str(error), error) from error


def _checked(decoder: Decoder[P], params: object) -> P:
    try:
        # Also a copy: what the caller keeps and what a client in this process gets are not the same object.
        return decoder.decode(encode(params))
    except (DecodeError, TypeError, RecursionError) as error:
        raise malformed(*explain(error), error) from error


def malformed(path: str, reason: str, cause: Exception | None = None) -> AskError:
    """Return the error for a question that cannot be asked like this."""
    context = {"path": path, "reason": reason}
    return AskError(MCP_CODES.INVALID_PARAMS, f"this cannot be asked: {path}: {reason}", cause=cause, context=context)

"""The stateless era: every request says itself who sends it, in which revision, and what can be asked of it.

One object serves a whole connection, but keeps nothing from one request for the next: what a request's `_meta` says
goes into a `Caller` of its own. Spec: basic, basic/versioning
"""

from collections.abc import Callable, Collection, Container, Sequence
from copy import copy
from typing import Final, Protocol, Self, cast

from msgspec import UNSET, DecodeError, Raw, ValidationError, convert, to_builtins
from msgspec.json import Decoder
from msgspec.structs import replace

from suaveplan_mcp.errors import (
    MCP_CODES,
    MISSING_CAPABILITY,
    STATELESS_NUMBERS,
    UNSUPPORTED_REVISION,
    MCPError,
    MCPProtocolError,
    number_for,
)
from suaveplan_mcp.events import Side
from suaveplan_mcp.jsonrpc.complaints import ROOT, explain
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Notification, Payload, Request, RequestId
from suaveplan_mcp.jsonrpc.records import CallReceived
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice
from suaveplan_mcp.protocol.admission import (
    SealedResult,
    admit_params,
    admit_result,
    invalid_params,
    progress_token,
    raw_json,
    seal_params,
    seal_result,
)
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.protocol.era import Era, method_not_found, peer_of
from suaveplan_mcp.protocol.methods import find, methods_of
from suaveplan_mcp.protocol.result_kinds import (
    COMPLETE,
    INPUT_REQUIRED,
    admit_input_required,
    complete,
    complete_json,
    kind_of,
    require_complete,
    seal_input_required,
)
from suaveplan_mcp.protocol.revisions import STATELESS_REVISIONS
from suaveplan_mcp.types.base import RequestParams, Result, WireStruct
from suaveplan_mcp.types.capabilities import ClientCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.logging import LoggingLevel
from suaveplan_mcp.types.meta import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LOG_LEVEL_KEY,
    PROTOCOL_VERSION_KEY,
    RequestMetaObject,
)

_META: Final = "_meta"
_object: Final = Decoder(dict[str, JsonValue] | None)


class Binding(Protocol):
    """What a transport has said about a request beside its body, and must agree with it. Each raises `MCPError`."""

    def check_revision(self, revision: str) -> None:
        """Compare the revision."""
        ...

    def check_method(self, method: str) -> None:
        """Compare the method."""
        ...

    def check_params(self, method: str, params: WireStruct) -> None:
        """Compare what is known of the params."""
        ...


def is_modern(params: Payload) -> bool:
    """Tell whether params claim to be a request of this era: they name a revision, or capabilities, of their own."""
    meta = _meta_in(params)
    return isinstance(meta, dict) and (PROTOCOL_VERSION_KEY in meta or CLIENT_CAPABILITIES_KEY in meta)


def missing_capability(path: str, method: str) -> MCPError:
    """Return the error for a request that cannot be served to a client of so few capabilities. Spec: basic

    Args:
        path: names of members joined by dots: `sampling`, `elicitation.url`.
        method: the method that was asked.
    """
    required: JsonObject = {}
    for name in reversed(path.split(".")):
        required = {name: required}
    text = f"{method} needs a client that declares the capability `{path}`"
    data: JsonObject = {"code": MCP_CODES.METHOD_NOT_FOUND, "requiredCapabilities": required}
    return MCPError(
        MCP_CODES.METHOD_NOT_FOUND, text, jsonrpc_code=MISSING_CAPABILITY, data=data, context={"capability": path}
    )


def unsupported_revision(requested: str, supported: Collection[str]) -> MCPError:
    """Return the error for a revision that is not spoken here. Spec: basic/versioning, Protocol Version Negotiation"""
    names = sorted(supported, reverse=True)
    text = f"revision {requested!r} is not supported here; {', '.join(names)} is"
    data: JsonObject = {
        "code": MCP_CODES.PROTOCOL_VERSION_MISMATCH,
        "supported": list[JsonValue](names),
        "requested": requested,
    }
    return MCPError(
        MCP_CODES.PROTOCOL_VERSION_MISMATCH,
        text,
        jsonrpc_code=UNSUPPORTED_REVISION,
        data=data,
        context={"supported": names, "requested": requested},
    )


class StatelessEra(Era):
    """The rules of the revisions in which every request stands for itself.

    Args:
        side: which side of the connection this is.
        served: the methods that have a handler here.
        accepted: the revisions this side speaks; a client speaks the newest.
        info: what this side calls itself; None to keep it to itself.
        capabilities: what a client can do; asked for each request, since it may change.
        result_types: the kinds of results beside the two of the core that a client understands.
        binding: what the transport said beside the body of the one request that will come.

    Attributes:
        log_level: the least level of log messages that a client asks for with each request; None asks for none.
    """

    numbers = STATELESS_NUMBERS

    def __init__(
        self,
        side: Side,
        served: Container[str],
        accepted: Collection[str] = STATELESS_REVISIONS,
        *,
        info: Implementation | None = None,
        capabilities: Callable[[], ClientCapabilities] = ClientCapabilities,
        result_types: Collection[str] = (),
        binding: Binding | None = None,
    ) -> None:
        super().__init__(side, served)
        self.accepted = accepted
        self.revision = max(accepted)
        self.unknown_id = UNSET
        self.log_level: LoggingLevel | None = None
        self._info: JsonObject | None = None if info is None else to_builtins(info)
        self._capabilities = capabilities
        self._result_types = result_types
        self._binding = binding
        self._ours = methods_of(side, self.revision)
        self._theirs = methods_of(peer_of(side), self.revision)
        if side == "client":
            self.caller.revision = self.revision

    def bound_to(self, binding: Binding) -> Self:
        """Return the same rules for one request, about which a transport has said something beside its body."""
        bound = copy(self)
        bound._binding = binding
        return bound

    def speak(self, revision: str) -> None:
        """Speak another of the revisions that are accepted from now on, as a client does that has learned of it."""
        self.revision = self.caller.revision = revision
        self._ours = methods_of(self.side, revision)
        self._theirs = methods_of(peer_of(self.side), revision)

    # What comes in

    def admit_request(self, request: Request) -> tuple[Payload, RequestId | None, Caller]:
        """Return the typed params, the progress token and the caller of a request.

        Raises:
            MCPError: `INVALID_PARAMS`, `_meta` or the params are malformed; `PROTOCOL_VERSION_MISMATCH`;
                `METHOD_NOT_FOUND`; or what the transport's binding says.
        """
        method = self._theirs.get(request.method)
        if method is None or method.kind != "request" or request.method not in self.served:
            raise self._refusal(request)
        try:
            params = admit_params(method, request.params)
        except MCPError as error:
            # Where the sender speaks another language, that is what it should hear of first.
            self._admit_sender(request.method, _meta_in(request.params))
            raise self._worded(error) from None
        meta = params.meta if isinstance(params, RequestParams) else None
        # This settles too whether the progress token is one.
        caller = self._admit_sender(request.method, meta)
        if self._binding is not None:
            self._binding.check_params(request.method, params)
        return params, progress_token(meta), caller

    def admit_notification(self, notification: Notification) -> Payload | CancelNotice | ProgressNotice:
        """Return the typed params, or what a cancellation or progress notice asks for.

        Raises:
            MCPError: the notification is unknown or malformed; it is dropped.
        """
        method = self._theirs.get(notification.method)
        if method is None or method.kind != "notification":
            raise method_not_found(notification.method, f" in revision {self.revision}")
        return self.meaning(admit_params(method, notification.params))

    def admit_result(self, method: str, result: Payload) -> tuple[Payload, Sequence[str]]:
        """Return the typed result: that of the method, or an `InputRequiredResult` where one may come in its place.

        Raises:
            MCPProtocolError: `PROTOCOL_INVALID`, it is malformed or of a kind that is not known.
        """
        row = self._ours[method]
        if type(result) is InputRequiredResult:
            return admit_input_required(row, result), ()
        try:
            admitted, deviations = admit_result(row, result)
        except MCPProtocolError:
            # Where it asks for input it need not be what the method's complete result is.
            if kind_of(result) != INPUT_REQUIRED:
                raise
            return admit_input_required(row, result), ()
        kind = cast("Result", admitted).result_type
        if kind is None or kind == COMPLETE or kind in self._result_types:
            return admitted, deviations
        if kind == INPUT_REQUIRED:
            return admit_input_required(row, result), ()
        text = f"the result of {method} is malformed at resultType: {kind!r} is of no kind that this client knows"
        raise MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, text, context={"method": method, "resultType": kind})

    # What goes out

    def seal_params(self, method: str, params: Payload, progress_token: RequestId | None) -> Payload:
        """Return params fit to be sent; those of a request say who sends it.

        Raises:
            MCPError: `METHOD_NOT_FOUND` where the era has no such method, `INVALID_PARAMS`.
        """
        row = self._ours.get(method)
        if row is None:
            raise method_not_found(method, f" in revision {self.revision}")
        if row.kind == "request":
            params = self._introduce(params)
        return seal_params(row, params, progress_token)

    def seal_result(self, call: CallReceived[object], result: Payload) -> Payload:
        """Return what a handler answers a call with, fit to be sent: complete, or asking for input.

        Raises:
            MCPError: `HANDLER_FAILED`, it is no answer to that method.
        """
        if type(result) is SealedResult:
            return result.json
        row = self._theirs[call.method]
        if type(result) is InputRequiredResult:
            return seal_input_required(row, result, self._info)
        sealed = seal_result(row, result)
        if isinstance(sealed, Raw):
            return complete_json(row, sealed, self._info)
        return complete(require_complete(row, cast("Result", sealed)), self._info)

    def complete(self, result: Result) -> Result:
        """Return a result with all that every complete result of the era carries. Spec: basic, Result Responses"""
        return complete(result, self._info)

    # Parts

    def _admit_sender(self, method: str, meta: JsonValue) -> Caller:
        """Return who sends a request."""
        binding = self._binding
        revision = meta.get(PROTOCOL_VERSION_KEY) if isinstance(meta, dict) else None
        if isinstance(revision, str):
            if binding is not None:
                binding.check_revision(revision)
            # Before the rest is looked at: what else belongs into `_meta` that revision alone knows.
            if revision not in self.accepted:
                raise unsupported_revision(revision, self.accepted)
        try:
            sender = convert({} if meta is None else meta, RequestMetaObject)
        except ValidationError as error:
            path, reason = explain(error)
            raise self._worded(invalid_params(_META if path == ROOT else f"{_META}.{path}", reason)) from error
        if binding is not None:
            binding.check_method(method)
        return Caller(sender.protocol_version, sender.client_info, sender.client_capabilities, sender.log_level)

    def _refusal(self, request: Request) -> MCPError:
        """Return why a request is not served whose method is none here."""
        if request.method == "initialize" and not is_modern(request.params):
            # Its sender knows no other way to begin, and shows its user this error at best.
            requested = _members_of(request.params).get("protocolVersion")
            return unsupported_revision(str(requested), self.accepted)
        try:
            self._admit_sender(request.method, _meta_in(request.params))
        except MCPError as error:
            return error
        known = find(request.method, peer_of(self.side)) is not None and request.method not in self._theirs
        return self._worded(method_not_found(request.method, f" in revision {self.revision}" if known else ""))

    def _worded(self, error: MCPError) -> MCPError:
        """Return an error that says its number, so that it goes out as this era has it whatever the connection is."""
        error.jsonrpc_code = number_for(error.code, None, self.numbers)
        return error

    def _introduce(self, params: Payload) -> Payload:
        """Return the params of a request with what it has to say about its sender. Spec: basic, `_meta`"""
        own: JsonObject = {
            PROTOCOL_VERSION_KEY: self.revision,
            CLIENT_CAPABILITIES_KEY: to_builtins(self._capabilities()),
        }
        if self._info is not None:
            own[CLIENT_INFO_KEY] = self._info
        if params is UNSET or params is None:
            params = RequestParams()
        if isinstance(params, RequestParams):
            return replace(params, meta={**self._wish(params.meta), **own})
        members = _object_of(params)
        meta = None if members is None else members.get(_META)
        if members is None or not (meta is None or isinstance(meta, dict)):
            # It cannot say who sends it, and is refused as what it is when it is sealed.
            return params
        return {**members, _META: {**self._wish(meta), **own}}

    def _wish(self, meta: JsonObject | None) -> JsonObject:
        """Return `_meta` with the wanted level of log messages, where it does not say one itself."""
        if self.log_level is None or (meta is not None and LOG_LEVEL_KEY in meta):
            return meta or {}
        return {**(meta or {}), LOG_LEVEL_KEY: self.log_level}


def _meta_in(params: Payload) -> JsonValue:
    """Return the `_meta` of params of any form, None where there is none to be read."""
    if isinstance(params, RequestParams):
        return params.meta
    return _members_of(params).get(_META)


def _members_of(params: Payload) -> JsonObject:
    """Return params as a JSON object; an empty one where they are none."""
    return _object_of(params) or {}


def _object_of(params: Payload) -> JsonObject | None:
    """Return params as a JSON object, an empty one where they are null, None where they are something else."""
    if isinstance(params, dict):
        return params
    try:
        return _object.decode(params if isinstance(params, Raw) else raw_json(params)) or {}
    except (DecodeError, RecursionError, MCPError):
        return None

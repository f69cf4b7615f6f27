"""Suggestions for the arguments of prompts and resource templates. Spec: server/utilities/completion"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from msgspec import DecodeError
from msgspec.json import Decoder
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.protocol.admission import invalid_params
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.refusals import InvalidResultError, RegistrationError
from suaveplan_mcp.server.results import look_over
from suaveplan_mcp.server.running import Runner
from suaveplan_mcp.server.signatures.signature import CallableShape, inspect_callable
from suaveplan_mcp.types.completion import (
    MAX_VALUES,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    PromptReference,
    ResourceTemplateReference,
)

Reference: TypeAlias = PromptReference | ResourceTemplateReference

_result_decoder: Final = Decoder(CompleteResult)


class Completions:
    """Who completes what.

    Args:
        runner: runs the handlers.
        is_known: tells whether there is what a reference names, or nothing of its kind at all.
    """

    __slots__ = ("_handlers", "_is_known", "_provider", "_runner")

    def __init__(self, runner: Runner, is_known: Callable[[Reference], bool]) -> None:
        self._runner = runner
        self._is_known = is_known
        self._handlers: dict[tuple[str, str], CallableShape] = {}
        self._provider: CallableShape | None = None

    def set_provider(self, provider: Callable[..., object] | None) -> None:
        """Let one function complete all that has no function of its own; it takes the `CompleteRequestParams`."""
        self._provider = None if provider is None else self._inspect(provider, "completion provider", most=1)

    def register(self, reference: str, argument: str, handler: Callable[..., object]) -> None:
        """Let a function complete one argument.

        Args:
            reference: the name of a prompt, or the URI template.
            argument: the argument or variable.
            handler: takes what is typed so far and, where it has a second parameter, the arguments settled already as
                a mapping; a `Context` if a parameter is annotated so. It returns the values best first, a `Completion`
                or a `CompleteResult`.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`, or the handler takes something else.
        """
        key = (reference, argument)
        if key in self._handlers:
            text = f"{argument!r} of {reference!r} has a completion already"
            raise MCPError(MCP_CODES.DUPLICATE_REGISTRATION, text, context={"reference": reference})
        self._handlers[key] = self._inspect(handler, f"completion of {argument!r}", most=2)

    async def handle_complete(self, params: CompleteRequestParams, call: InboundCall) -> CompleteResult:
        """Answer `completion/complete`; without a function to ask the answer is empty.

        Raises:
            MCPError: `INVALID_PARAMS`, there is no such prompt or template.
        """
        reference = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        settled = (params.context.arguments if params.context else None) or {}
        shape, given = self._handlers.get((reference, params.argument.name)), (params.argument.value, settled)
        if shape is None:
            shape, given = self._provider, (params, settled)
        if shape is None:
            if not self._is_known(params.ref) and all(reference != named for named, _ in self._handlers):
                raise invalid_params("ref", f"there is no {params.ref.type.removeprefix('ref/')} {reference!r}")
            return CompleteResult(completion=Completion(values=[]))
        names = [parameter.name for parameter in shape.parameters]
        value = await self._runner.run_reported(shape, dict(zip(names, given, strict=False)), call)
        return look_over("completion/complete", shape.label, value, _to_result(shape, value))

    def _inspect(self, handler: Callable[..., object], kind: str, *, most: int) -> CallableShape:
        shape = inspect_callable(handler, kind=kind, name=getattr(handler, "__name__", kind), context_type=Context)
        if not 1 <= len(shape.parameters) <= most:
            raise RegistrationError(
                shape.name, f"a {kind} takes {' or '.join('12'[:most])} parameters beside a context"
            )
        return shape


def _to_result(shape: CallableShape, value: object) -> CompleteResult:
    """Turn what a function returned into the result, cut to what one answer may hold."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        try:
            value = _result_decoder.decode(encode(members if "completion" in members else {"completion": members}))
        except (DecodeError, TypeError) as error:
            raise InvalidResultError(shape.label, str(error), cause=error) from error
    if isinstance(value, CompleteResult):
        return replace(value, completion=_cut(value.completion))
    if isinstance(value, Completion):
        return CompleteResult(completion=_cut(value))
    if not isinstance(value, Sequence) or isinstance(value, str):
        problem = TypeError(f"a list of strings was expected, not `{type(value).__name__}`")
        raise InvalidResultError(shape.label, str(problem), cause=problem)
    values = [str(item) for item in cast("Sequence[object]", value)]
    return CompleteResult(completion=_cut(Completion(values=values, total=len(values))))


def _cut(completion: Completion) -> Completion:
    values = completion.values
    if len(values) <= MAX_VALUES:
        return completion
    return replace(completion, values=values[:MAX_VALUES], total=completion.total or len(values), has_more=True)

"""Completing arguments: asking the server, and answering it where it asks us. Spec: server/utilities/completion"""

from collections.abc import Sequence
from typing import Final, cast

from msgspec import DecodeError
from msgspec.json import Decoder
from msgspec.structs import replace

from suaveplan_mcp.client.arguments import Meta, copy_meta, encode_json, refusal
from suaveplan_mcp.client.providers import Provider
from suaveplan_mcp.jsonrpc.complaints import explain
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.types.completion import MAX_VALUES, CompleteRequestParams, CompleteResult, Completion

_request: Final = Decoder(CompleteRequestParams)


def complete_params(ref: object, argument: object, context: object, meta: Meta) -> CompleteRequestParams:
    """Return the params that ask for suggestions.

    Args:
        ref: a reference, as a struct or a dict; or the whole request, when `argument` is None.
        argument: the argument that is typed, as a struct or a dict.
        context: what is already settled, as a struct or a dict.
        meta: `_meta`.

    Raises:
        MCPError: `INVALID_PARAMS`, naming the path.
    """
    whole = ref if argument is None else {"ref": ref, "argument": argument, "context": context}
    try:
        params = _request.decode(encode_json("ref", whole))
    except DecodeError as error:
        path, reason = explain(error)
        raise refusal(path, reason) from error
    return params if meta is None else replace(params, meta=copy_meta(meta))


def complete_nothing(_: object) -> CompleteResult:
    """Answer a server that asks a client without a provider."""
    return CompleteResult(completion=Completion(values=[]))


class CompletionService:
    """Answers `completion/complete` of a server.

    Args:
        provider: returns a `CompleteResult`, a `Completion`, a list of strings, or a dict of either shape.
    """

    __slots__ = ("_provider",)

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def serve(self, params: CompleteRequestParams, call: InboundCall) -> object:
        """Return the suggestions; more than the specification allows are counted but not sent."""
        answer: object = await self._provider.ask(params, call)
        if isinstance(answer, list | tuple):
            values = list(cast("Sequence[str]", answer))
            answer = Completion(values=values[:MAX_VALUES], total=len(values), has_more=len(values) > MAX_VALUES)
        if isinstance(answer, Completion) or (isinstance(answer, dict) and "values" in answer):
            return {"completion": cast("object", answer)}
        return cast("object", answer)

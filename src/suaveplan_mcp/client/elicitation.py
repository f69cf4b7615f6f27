"""Answering a server that asks for the client's user. Spec: client/elicitation"""

from typing import Any, Final, cast

from msgspec import ValidationError, convert

from suaveplan_mcp.client.providers import Provider, wrong_answer
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.protocol.admission import invalid_params
from suaveplan_mcp.protocol.forms import check_answer, with_defaults
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.types.elicitation import ElicitRequestedSchema, ElicitRequestParams, ElicitResult

METHOD: Final = "elicitation/create"

_ACTIONS: Final = ("accept", "decline", "cancel")
_MEMBERS: Final = frozenset({"action", "content", "_meta"})


class ElicitationService:
    """Answers `elicitation/create`.

    Args:
        provider: returns an `ElicitResult`, a dict of that shape, one of its actions as a string, or a dict with what
            the user filled in. A dict is taken for a result when it has an `action` and nothing that a result has not;
            where the form has a field of that name, it must have `content` too.
        modes: which modes the client declared, `form`, `url` or both.
    """

    __slots__ = ("_modes", "_provider")

    def __init__(self, provider: Provider, modes: frozenset[str]) -> None:
        self._provider = provider
        self._modes = modes

    async def serve(self, params: ElicitRequestParams, call: InboundCall) -> ElicitResult:
        """Return what the user did, with the defaults of the form filled in where they left a field out.

        Raises:
            MCPError: `INVALID_PARAMS`, the client did not declare the mode; `HANDLER_FAILED`, the provider's answer
                does not fit the form.
        """
        mode = params.mode or "form"
        if mode not in self._modes:
            raise invalid_params("mode", f"this client did not declare elicitation in mode {mode!r}")
        schema = params.requested_schema if mode == "form" else None
        result = _as_result(await self._provider.ask(params, call), schema)
        if result.action != "accept" or schema is None:
            return ElicitResult(action=result.action, meta=result.meta)
        accepted = ElicitResult(action="accept", content=with_defaults(schema, result.content or {}), meta=result.meta)
        try:
            check_answer(params, accepted)
        except MCPError as error:
            raise wrong_answer(METHOD, f"{error.context['path']}: {error.context['reason']}") from error
        return accepted


def _as_result(answer: Any, schema: ElicitRequestedSchema | None) -> ElicitResult:
    if isinstance(answer, str):
        answer = {"action": answer}
    elif type(answer) is dict:
        members = cast("dict[str, object]", answer)
        answer = members if _is_result(members, schema) else {"action": "accept", "content": members}
    try:
        return convert(answer, ElicitResult)
    except ValidationError as error:
        raise wrong_answer(METHOD, str(error)) from error


def _is_result(members: dict[str, object], schema: ElicitRequestedSchema | None) -> bool:
    if schema is not None and "action" in schema.properties and "content" not in members:
        return False
    return members.get("action") in _ACTIONS and _MEMBERS.issuperset(members)

"""What a server may ask in the middle of a call, of which client, and how a question travels in a result.

Spec: basic/patterns/mrtr, client/elicitation, client/sampling, client/roots
"""

from typing import Final, TypeAlias

from suaveplan_mcp.protocol.admission import invalid_params
from suaveplan_mcp.protocol.sampling import lacking_for_sampling
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.capabilities import ClientCapabilities
from suaveplan_mcp.types.elicitation import ElicitRequest, ElicitRequestParams
from suaveplan_mcp.types.input_required import InputRequest
from suaveplan_mcp.types.roots import ListRootsRequest
from suaveplan_mcp.types.sampling import CreateMessageRequest, CreateMessageRequestParams

MAX_ROUNDS: Final = 16
"""How often one call may ask its client for more, where nobody said otherwise; both sides count."""

Question: TypeAlias = ElicitRequestParams | CreateMessageRequestParams | RequestParams
"""The params of a question; those that have no more than any request ask for the roots."""


def lacking(question: Question, declared: ClientCapabilities, revision: str | None) -> str | None:
    """Return the capability that a client would have to declare for a question and has not, or None.

    Args:
        question: what is asked.
        declared: what the client can do.
        revision: what it speaks.
    """
    if isinstance(question, ElicitRequestParams):
        return _lacking_for_elicitation(question, declared)
    if isinstance(question, CreateMessageRequestParams):
        return lacking_for_sampling(question, declared, revision)
    return None if declared.roots is not None else "roots"


def require_max_rounds(max_rounds: int) -> int:
    """Return `max_rounds`, which must be at least 1.

    Raises:
        MCPError: `INVALID_PARAMS`.
    """
    if max_rounds < 1:
        raise invalid_params("max_rounds", "at least one round has to be allowed")
    return max_rounds


def input_request(question: Question) -> InputRequest:
    """Return a question as an input-required result carries it."""
    if isinstance(question, ElicitRequestParams):
        return ElicitRequest(params=question)
    if isinstance(question, CreateMessageRequestParams):
        return CreateMessageRequest(params=question)
    return ListRootsRequest(params=question)


def _lacking_for_elicitation(question: ElicitRequestParams, declared: ClientCapabilities) -> str | None:
    modes = declared.elicitation
    if modes is None:
        return "elicitation"
    if question.mode == "url":
        return None if modes.url is not None else "elicitation.url"
    # Naming neither mode is the older way to declare forms.
    return None if modes.form is not None or modes.url is None else "elicitation.form"

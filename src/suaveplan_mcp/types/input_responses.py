"""The answers a client sends back when a result said that input is required. Spec: basic/patterns/mrtr"""

from typing import TypeAlias

from msgspec import Raw

from suaveplan_mcp.types.base import RequestParams

InputResponses: TypeAlias = dict[str, Raw]
"""Answers by the key of the input request. Each is a `CreateMessageResult`, a `ListRootsResult` or an `ElicitResult`;
only the request tells which, so they stay encoded until it is known. Spec: basic/patterns/mrtr"""


class InputResponseRequestParams(RequestParams, frozen=True, kw_only=True):
    """Base the params of the requests that may be sent again with the input they asked for. Stateless era.

    Args:
        request_state: exactly what the input-required result carried.

    Spec: basic/patterns/mrtr
    """

    input_responses: InputResponses | None = None
    request_state: str | None = None

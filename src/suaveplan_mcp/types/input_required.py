"""Results that ask for something before they can be complete. Spec: basic/patterns/mrtr"""

from typing import TypeAlias

from suaveplan_mcp.types.base import Result
from suaveplan_mcp.types.elicitation import ElicitRequest
from suaveplan_mcp.types.roots import ListRootsRequest
from suaveplan_mcp.types.sampling import CreateMessageRequest

InputRequest: TypeAlias = CreateMessageRequest | ListRootsRequest | ElicitRequest
"""What a server may ask for. Spec: basic/patterns/mrtr"""

InputRequests: TypeAlias = dict[str, InputRequest]
"""What a server asks for, by keys of its own choice. Spec: basic/patterns/mrtr"""


class InputRequiredResult(Result, frozen=True, kw_only=True):
    """Ask the client to send the request again, with answers. One of the two fields is there.

    Args:
        input_requests: what is asked.
        request_state: what the client must send back unread.

    Spec: basic/patterns/mrtr
    """

    input_requests: InputRequests | None = None
    request_state: str | None = None

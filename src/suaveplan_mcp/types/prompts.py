"""Messages that a server offers to a user. Spec: server/prompts"""

from msgspec import field

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.types.annotations import Role
from suaveplan_mcp.types.base import Received, Result, WireStruct
from suaveplan_mcp.types.content import ContentBlock
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.input_responses import InputResponseRequestParams
from suaveplan_mcp.types.pagination import PaginatedResult


class PromptArgument(WireStruct, frozen=True, kw_only=True):
    """Describe an argument of a prompt.

    Args:
        required: it must be given; absent means no.

    Spec: server/prompts
    """

    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


class Prompt(Received, frozen=True, kw_only=True):
    """Describe a prompt.

    Args:
        name: for programs; `title` is for people.

    Spec: server/prompts
    """

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Icon] | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class PromptMessage(WireStruct, frozen=True, kw_only=True):
    """Carry one message of a prompt.

    Spec: server/prompts
    """

    role: Role
    content: ContentBlock


class ListPromptsResult(PaginatedResult, frozen=True, kw_only=True):
    """Give a page of the prompts.

    Spec: server/prompts
    """

    prompts: list[Prompt]


class GetPromptRequestParams(InputResponseRequestParams, frozen=True, kw_only=True):
    """Ask for the messages of a prompt.

    Spec: server/prompts
    """

    name: str
    arguments: dict[str, str] | None = None


class GetPromptResult(Result, frozen=True, kw_only=True):
    """Give the messages of a prompt.

    Spec: server/prompts
    """

    messages: list[PromptMessage]
    description: str | None = None

"""Functions that a server offers to a model. Spec: server/tools"""

from typing import Literal, TypeAlias

from msgspec import UNSET, Raw, UnsetType, field
from msgspec.structs import force_setattr

from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.types.base import Received, Result, WireStruct
from suaveplan_mcp.types.content import ContentBlock
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.input_responses import InputResponseRequestParams
from suaveplan_mcp.types.pagination import PaginatedResult
from suaveplan_mcp.types.tasks import TaskMetadata

TaskSupport: TypeAlias = Literal["forbidden", "optional", "required"]
"""Whether a tool runs as a task; absent means forbidden. Spec: basic/utilities/tasks"""

_NULL = Raw(b"null")


class ToolAnnotations(WireStruct, frozen=True, kw_only=True):
    """Hint at what a tool does. Hints of a server that is not trusted prove nothing.

    Args:
        read_only_hint: it changes nothing; absent means no.
        destructive_hint: it may destroy; absent means yes.
        idempotent_hint: a second call with the same arguments changes no more; absent means no.
        open_world_hint: it reaches beyond the server; absent means yes.

    Spec: server/tools
    """

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolExecution(WireStruct, frozen=True, kw_only=True):
    """Tell how a tool is run. Last handshake revision only.

    Spec: basic/utilities/tasks
    """

    task_support: TaskSupport | None = None


class Tool(Received, frozen=True, kw_only=True):
    """Describe a tool.

    Args:
        name: for programs; `title` is for people.
        input_schema: the JSON Schema of its arguments, an object.
        output_schema: the JSON Schema of its structured content.

    Spec: server/tools
    """

    name: str
    input_schema: JsonObject
    title: str | None = None
    description: str | None = None
    output_schema: JsonObject | None = None
    icons: list[Icon] | None = None
    annotations: ToolAnnotations | None = None
    execution: ToolExecution | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class ListToolsResult(PaginatedResult, frozen=True, kw_only=True):
    """Give a page of the tools.

    Spec: server/tools
    """

    tools: list[Tool]


class CallToolRequestParams(InputResponseRequestParams, frozen=True, kw_only=True):
    """Call a tool.

    Args:
        arguments: the arguments as encoded JSON, which the tool's own decoder reads once; `UNSET` for none. msgspec
            knows no `Raw | None`, hence `UNSET`; a `null` from the wire is taken as none too.
        task: asks for the call to run as a task. Last handshake revision only.

    Spec: server/tools
    """

    name: str
    arguments: Raw | UnsetType = UNSET
    task: TaskMetadata | None = None

    def __post_init__(self) -> None:
        """Take `null` for no arguments."""
        if self.arguments == _NULL:
            force_setattr(self, "arguments", UNSET)


class CallToolResult(Result, frozen=True, kw_only=True):
    """Give what a tool said.

    Args:
        content: what it said, for a model.
        structured_content: the same as JSON. `null` is a value; `UNSET` means that there is none.
        is_error: the tool failed and `content` says why; absent means no.

    Spec: server/tools
    """

    content: list[ContentBlock]
    structured_content: JsonValue | UnsetType = UNSET
    is_error: bool = False

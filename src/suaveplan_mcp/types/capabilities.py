"""What each side can do. Spec: basic

A capability is there when its object is there, empty or not. Values the specification leaves open are JSON objects.
"""

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.types.base import WireStruct


class RootsCapability(WireStruct, frozen=True, kw_only=True):
    """Say that a client has roots.

    Args:
        list_changed: it tells when they change. Handshake era only.

    Spec: client/roots
    """

    list_changed: bool | None = None


class SamplingCapability(WireStruct, frozen=True, kw_only=True):
    """Say that a client can ask its model.

    Args:
        context: it honours `include_context`.
        tools: it lets the model use tools.

    Spec: client/sampling
    """

    context: JsonObject | None = None
    tools: JsonObject | None = None


class ElicitationCapability(WireStruct, frozen=True, kw_only=True):
    """Say that a client can ask its user. Neither mode named means forms.

    Spec: client/elicitation
    """

    form: JsonObject | None = None
    url: JsonObject | None = None


class PromptsCapability(WireStruct, frozen=True, kw_only=True):
    """Say that a server has prompts.

    Spec: server/prompts
    """

    list_changed: bool | None = None


class ResourcesCapability(WireStruct, frozen=True, kw_only=True):
    """Say that a server has resources.

    Args:
        subscribe: it tells when a single resource changes.
        list_changed: it tells when the list changes.

    Spec: server/resources
    """

    subscribe: bool | None = None
    list_changed: bool | None = None


class ToolsCapability(WireStruct, frozen=True, kw_only=True):
    """Say that a server has tools.

    Spec: server/tools
    """

    list_changed: bool | None = None


class TasksSamplingCapability(WireStruct, frozen=True, kw_only=True):
    """Say which sampling requests a client runs as tasks. Last handshake revision only.

    Spec: basic/utilities/tasks
    """

    create_message: JsonObject | None = None


class TasksElicitationCapability(WireStruct, frozen=True, kw_only=True):
    """Say which elicitation requests a client runs as tasks. Last handshake revision only.

    Spec: basic/utilities/tasks
    """

    create: JsonObject | None = None


class TasksToolsCapability(WireStruct, frozen=True, kw_only=True):
    """Say which tool requests a server runs as tasks. Last handshake revision only.

    Spec: basic/utilities/tasks
    """

    call: JsonObject | None = None


class ClientTasksRequestsCapability(WireStruct, frozen=True, kw_only=True):
    """Say which requests a client runs as tasks. Last handshake revision only.

    Spec: basic/utilities/tasks
    """

    sampling: TasksSamplingCapability | None = None
    elicitation: TasksElicitationCapability | None = None


class ServerTasksRequestsCapability(WireStruct, frozen=True, kw_only=True):
    """Say which requests a server runs as tasks. Last handshake revision only.

    Spec: basic/utilities/tasks
    """

    tools: TasksToolsCapability | None = None


class ClientTasksCapability(WireStruct, frozen=True, kw_only=True):
    """Say what a client does with tasks. Last handshake revision only.

    Spec: basic/utilities/tasks
    """

    list: JsonObject | None = None
    cancel: JsonObject | None = None
    requests: ClientTasksRequestsCapability | None = None


class ServerTasksCapability(WireStruct, frozen=True, kw_only=True):
    """Say what a server does with tasks. Last handshake revision only.

    Spec: basic/utilities/tasks
    """

    list: JsonObject | None = None
    cancel: JsonObject | None = None
    requests: ServerTasksRequestsCapability | None = None


class ClientCapabilities(WireStruct, frozen=True, kw_only=True):
    """Say what a client can do.

    Args:
        experimental: what no specification names, by key.
        extensions: extensions by identifier, with their settings. Stateless era.

    Spec: basic
    """

    roots: RootsCapability | None = None
    sampling: SamplingCapability | None = None
    elicitation: ElicitationCapability | None = None
    tasks: ClientTasksCapability | None = None
    experimental: dict[str, JsonObject] | None = None
    extensions: dict[str, JsonObject] | None = None


class ServerCapabilities(WireStruct, frozen=True, kw_only=True):
    """Say what a server can do.

    Args:
        experimental: what no specification names, by key.
        extensions: extensions by identifier, with their settings. Stateless era.

    Spec: basic
    """

    tools: ToolsCapability | None = None
    resources: ResourcesCapability | None = None
    prompts: PromptsCapability | None = None
    completions: JsonObject | None = None
    logging: JsonObject | None = None
    tasks: ServerTasksCapability | None = None
    experimental: dict[str, JsonObject] | None = None
    extensions: dict[str, JsonObject] | None = None

"""One sample of every exported struct, as JSON, with as many members as can stand together in every revision.

Each comes with a way to break it: a member, and a value that it cannot have (`MISSING` takes it away).
"""

from dataclasses import dataclass
from typing import Final

from suaveplan_mcp import types
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.types import WireStruct

MISSING: Final = object()

REQUEST_META: Final[JsonObject] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "kiosk", "version": "4.1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "progressToken": 0,
    "example.org/trace": [1, None, {"deep": False}],
}
NOTIFICATION_META: Final[JsonObject] = {"io.modelcontextprotocol/subscriptionId": "tram-7"}
RESULT_META: Final[JsonObject] = {
    "io.modelcontextprotocol/serverInfo": {"name": "depot", "version": "0.9"},
    "io.modelcontextprotocol/subscriptionId": 0,
    "example.org/": 0,
}
META: Final[JsonObject] = {"example.org/colour": "red", "": 0}

ICON: Final[JsonObject] = {
    "src": "https://example.org/tram.svg",
    "mimeType": "image/svg+xml",
    "sizes": ["any"],
    "theme": "dark",
}
NAMED: Final[JsonObject] = {"name": "line-7", "title": "Line 7"}
ANNOTATIONS: Final[JsonObject] = {
    "audience": ["user", "assistant"],
    "priority": 0,
    "lastModified": "2025-02-03T04:05:06Z",
}
TEXT: Final[JsonObject] = {"type": "text", "text": "Platform 2", "annotations": ANNOTATIONS, "_meta": META}
TEXT_CONTENTS: Final[JsonObject] = {"uri": "file:///timetable", "mimeType": "text/plain", "text": "", "_meta": META}
BLOB_CONTENTS: Final[JsonObject] = {"uri": "file:///map", "mimeType": "image/png", "blob": "iVBORw==", "_meta": META}
INPUT_SCHEMA: Final[JsonObject] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"stop": {"type": "string", "x-unknown": None}},
    "required": ["stop"],
}
TOOL: Final[JsonObject] = {
    **NAMED,
    "description": "Tell the next departure.",
    "inputSchema": INPUT_SCHEMA,
    "outputSchema": {"type": "object", "properties": {"minutes": {"type": "integer"}}},
    "icons": [ICON],
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
    "execution": {},
    "_meta": META,
}
RESOURCE: Final[JsonObject] = {
    **NAMED,
    "uri": "file:///timetable",
    "description": "All departures.",
    "mimeType": "text/plain",
    "size": 0,
    "icons": [ICON],
    "annotations": ANNOTATIONS,
    "_meta": META,
}
TEMPLATE: Final[JsonObject] = {
    **NAMED,
    "uriTemplate": "file:///stops/{stop}",
    "description": "One stop.",
    "mimeType": "text/plain",
    "icons": [ICON],
    "annotations": ANNOTATIONS,
    "_meta": META,
}
ARGUMENT: Final[JsonObject] = {**NAMED, "description": "Where from.", "required": False}
PROMPT: Final[JsonObject] = {
    **NAMED,
    "description": "Plan a trip.",
    "arguments": [ARGUMENT],
    "icons": [ICON],
    "_meta": META,
}
ROOT: Final[JsonObject] = {"uri": "file:///home/ada/trams", "name": "Trams", "_meta": META}
MESSAGE: Final[JsonObject] = {"role": "user", "content": TEXT}
SAMPLING_MESSAGE: Final[JsonObject] = {**MESSAGE, "_meta": META}
TASK: Final[JsonObject] = {
    "taskId": "t-1",
    "status": "working",
    "statusMessage": "Counting trams",
    "createdAt": "2025-11-30T10:00:00Z",
    "lastUpdatedAt": "2025-11-30T10:00:05Z",
    "ttl": None,
    "pollInterval": 500,
}
IMPLEMENTATION: Final[JsonObject] = {
    "name": "depot",
    "title": "Depot",
    "version": "0.9",
    "description": "Knows trams.",
    "websiteUrl": "https://example.org",
    "icons": [ICON],
}
CLIENT_TASKS: Final[JsonObject] = {
    "list": {},
    "cancel": {},
    "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
}
SERVER_TASKS: Final[JsonObject] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
CLIENT_CAPABILITIES: Final[JsonObject] = {
    "roots": {"listChanged": False},
    "sampling": {"context": {}, "tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "tasks": CLIENT_TASKS,
    "experimental": {"example.org/speech": {"voices": 2}},
    "extensions": {"example.org/ui": {}},
}
SERVER_CAPABILITIES: Final[JsonObject] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": False, "listChanged": True},
    "prompts": {},
    "completions": {},
    "logging": {},
    "tasks": SERVER_TASKS,
    "experimental": {"example.org/speech": {"voices": 2}},
    "extensions": {"example.org/ui": {}},
}
OPTION: Final[JsonObject] = {"const": "w", "title": "Window"}
FORM: Final[JsonObject] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0, "default": 0},
        "news": {"type": "boolean", "default": False},
    },
    "required": ["name"],
}
RESULT: Final[JsonObject] = {"resultType": "complete", "_meta": RESULT_META}
FRESH: Final[JsonObject] = {**RESULT, "ttlMs": 0, "cacheScope": "private"}
PAGE: Final[JsonObject] = {**FRESH, "nextCursor": ""}
PARAMS: Final[JsonObject] = {"_meta": REQUEST_META}
NOTICE: Final[JsonObject] = {"_meta": NOTIFICATION_META}
AGAIN: Final[JsonObject] = {
    **PARAMS,
    "inputResponses": {"who": {"action": "accept", "content": {"name": "Ada", "age": 36}}},
    "requestState": "c2lnbmVk",
}
FILTER: Final[JsonObject] = {
    "toolsListChanged": True,
    "promptsListChanged": False,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["file:///timetable"],
}
CREATE_MESSAGE: Final[JsonObject] = {
    **PARAMS,
    "messages": [SAMPLING_MESSAGE],
    "maxTokens": 0,
    "modelPreferences": {
        "hints": [{"name": "small"}, {}],
        "costPriority": 1,
        "speedPriority": 0.5,
        "intelligencePriority": 0,
    },
    "systemPrompt": "Be brief.",
    "includeContext": "none",
    "temperature": 0.25,
    "stopSequences": ["\n\n"],
    "metadata": {"provider": {"top_k": 3}},
    "tools": [TOOL],
    "toolChoice": {"mode": "auto"},
    "task": {"ttl": 60_000},
}
ELICIT_FORM: Final[JsonObject] = {
    **PARAMS,
    "mode": "form",
    "message": "Who travels?",
    "requestedSchema": FORM,
    "task": {"ttl": 1},
}
ELICIT_URL: Final[JsonObject] = {
    **PARAMS,
    "mode": "url",
    "message": "Pay for the ticket.",
    "url": "https://example.org/pay",
    "elicitationId": "e-1",
    "task": {},
}
LABELLED: Final[JsonObject] = {"title": "Seat", "description": "Where to sit."}


@dataclass(frozen=True)
class Sample:
    """A struct as JSON, and how to break it."""

    wire: JsonObject
    breaks: str
    bad: object = MISSING

    @property
    def broken(self) -> dict[str, object]:
        """The sample with the one member gone or wrong."""
        rest: dict[str, object] = {name: value for name, value in self.wire.items() if name != self.breaks}
        return rest if self.bad is MISSING else {**rest, self.breaks: self.bad}


def _paged(member: str, *items: JsonValue) -> Sample:
    return Sample({**PAGE, member: list(items)}, member)


SAMPLES: Final[dict[type[WireStruct], Sample]] = {
    # What others build on
    types.RequestParams: Sample(PARAMS, "_meta", 7),
    types.NotificationParams: Sample(NOTICE, "_meta", []),
    types.Result: Sample(RESULT, "resultType", False),
    types.EmptyResult: Sample(RESULT, "_meta", "none"),
    types.PaginatedRequestParams: Sample({**PARAMS, "cursor": ""}, "cursor", 3),
    types.CacheableResult: Sample(FRESH, "cacheScope", "shared"),
    types.PaginatedResult: Sample(PAGE, "nextCursor", 3),
    types.InputResponseRequestParams: Sample(AGAIN, "requestState", {}),
    types.TaskAugmentedRequestParams: Sample({**PARAMS, "task": {"ttl": 0}}, "task", "t-1"),
    # The keys of _meta
    types.RequestMetaObject: Sample(
        {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": IMPLEMENTATION,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "alert",
            "progressToken": "p",
        },
        "io.modelcontextprotocol/protocolVersion",
    ),
    types.NotificationMetaObject: Sample(NOTIFICATION_META, "io.modelcontextprotocol/subscriptionId", 1.5),
    types.ResultMetaObject: Sample(
        {"io.modelcontextprotocol/serverInfo": IMPLEMENTATION}, "io.modelcontextprotocol/serverInfo", "depot"
    ),
    types.SubscriptionsListenResultMetaObject: Sample(
        {"io.modelcontextprotocol/serverInfo": IMPLEMENTATION, "io.modelcontextprotocol/subscriptionId": 0},
        "io.modelcontextprotocol/subscriptionId",
    ),
    # Who is who, and what they can do
    types.Icon: Sample(ICON, "theme", "grey"),
    types.Implementation: Sample(IMPLEMENTATION, "version"),
    types.RootsCapability: Sample({"listChanged": True}, "listChanged", 1),
    types.SamplingCapability: Sample({"context": {}, "tools": {}}, "tools", True),
    types.ElicitationCapability: Sample({"form": {}, "url": {}}, "url", "yes"),
    types.PromptsCapability: Sample({"listChanged": False}, "listChanged", "no"),
    types.ResourcesCapability: Sample({"subscribe": True, "listChanged": False}, "subscribe", {}),
    types.ToolsCapability: Sample({"listChanged": True}, "listChanged", 0),
    types.TasksSamplingCapability: Sample({"createMessage": {}}, "createMessage", True),
    types.TasksElicitationCapability: Sample({"create": {}}, "create", True),
    types.TasksToolsCapability: Sample({"call": {}}, "call", True),
    types.ClientTasksRequestsCapability: Sample(
        {"sampling": {"createMessage": {}}, "elicitation": {}}, "elicitation", True
    ),
    types.ServerTasksRequestsCapability: Sample({"tools": {"call": {}}}, "tools", []),
    types.ClientTasksCapability: Sample(CLIENT_TASKS, "list", []),
    types.ServerTasksCapability: Sample(SERVER_TASKS, "cancel", 0),
    types.ClientCapabilities: Sample(CLIENT_CAPABILITIES, "experimental", {"speech": True}),
    types.ServerCapabilities: Sample(SERVER_CAPABILITIES, "logging", True),
    types.InitializeRequestParams: Sample(
        {
            **PARAMS,
            "protocolVersion": "2025-11-25",
            "capabilities": CLIENT_CAPABILITIES,
            "clientInfo": IMPLEMENTATION,
        },
        "clientInfo",
    ),
    types.InitializeResult: Sample(
        {
            **RESULT,
            "protocolVersion": "2025-11-25",
            "capabilities": SERVER_CAPABILITIES,
            "serverInfo": IMPLEMENTATION,
            "instructions": "Ask for a stop.",
        },
        "protocolVersion",
        2025,
    ),
    types.DiscoverResult: Sample(
        {
            **FRESH,
            "supportedVersions": ["2026-07-28"],
            "capabilities": SERVER_CAPABILITIES,
            "instructions": "Ask for a stop.",
        },
        "supportedVersions",
    ),
    # Other messages about messages
    types.CancelledNotificationParams: Sample(
        {**NOTICE, "requestId": 0, "reason": "missed the tram"}, "requestId", 1.5
    ),
    types.ProgressNotificationParams: Sample(
        {**NOTICE, "progressToken": "p", "progress": 0.5, "total": 3, "message": "one stop"}, "progress"
    ),
    types.SetLevelRequestParams: Sample({**PARAMS, "level": "notice"}, "level", "loud"),
    types.LoggingMessageNotificationParams: Sample(
        {**NOTICE, "level": "warning", "data": None, "logger": "doors"}, "data"
    ),
    types.SubscriptionFilter: Sample(FILTER, "resourceSubscriptions", "file:///timetable"),
    types.SubscriptionsListenRequestParams: Sample({**PARAMS, "notifications": FILTER}, "notifications"),
    types.SubscriptionsAcknowledgedNotificationParams: Sample({**NOTICE, "notifications": {}}, "notifications"),
    types.SubscriptionsListenResult: Sample(RESULT, "_meta", 0),
    # Content
    types.Annotations: Sample(ANNOTATIONS, "audience", ["passenger"]),
    types.TextContent: Sample(TEXT, "text", None),
    types.ImageContent: Sample(
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png", "annotations": ANNOTATIONS, "_meta": META},
        "mimeType",
    ),
    types.AudioContent: Sample(
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav", "annotations": ANNOTATIONS, "_meta": META},
        "data",
    ),
    types.ResourceLink: Sample({"type": "resource_link", **RESOURCE}, "name"),
    types.EmbeddedResource: Sample(
        {"type": "resource", "resource": BLOB_CONTENTS, "annotations": ANNOTATIONS, "_meta": META}, "resource"
    ),
    types.ToolUseContent: Sample(
        {"type": "tool_use", "id": "u-1", "name": "line-7", "input": {"stop": None}, "_meta": META}, "input", []
    ),
    types.ToolResultContent: Sample(
        {
            "type": "tool_result",
            "toolUseId": "u-1",
            "content": [TEXT],
            "structuredContent": {"minutes": 3},
            "isError": True,
            "_meta": META,
        },
        "toolUseId",
    ),
    # What servers offer
    types.ToolAnnotations: Sample(
        {
            "title": "Next",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "idempotentHint",
        "yes",
    ),
    types.ToolExecution: Sample({"taskSupport": "optional"}, "taskSupport", "maybe"),
    types.Tool: Sample(TOOL, "inputSchema"),
    types.ListToolsResult: _paged("tools", TOOL),
    types.CallToolRequestParams: Sample(
        {**AGAIN, "name": "line-7", "arguments": {"stop": "Mill"}, "task": {"ttl": 1}}, "name"
    ),
    types.CallToolResult: Sample(
        {**RESULT, "content": [TEXT], "structuredContent": {"minutes": None}, "isError": True}, "content"
    ),
    types.Resource: Sample(RESOURCE, "uri"),
    types.ResourceTemplate: Sample(TEMPLATE, "uriTemplate"),
    types.ResourceContents: Sample(TEXT_CONTENTS, "text"),
    types.TextResourceContents: Sample(TEXT_CONTENTS, "text"),
    types.BlobResourceContents: Sample(BLOB_CONTENTS, "blob"),
    types.ListResourcesResult: _paged("resources", RESOURCE),
    types.ListResourceTemplatesResult: _paged("resourceTemplates", TEMPLATE),
    types.ResourceRequestParams: Sample({**PARAMS, "uri": "file:///map"}, "uri"),
    types.ReadResourceRequestParams: Sample({**AGAIN, "uri": "file:///map"}, "uri"),
    types.ReadResourceResult: Sample({**FRESH, "contents": [TEXT_CONTENTS, BLOB_CONTENTS]}, "contents"),
    types.SubscribeRequestParams: Sample({**PARAMS, "uri": "file:///map"}, "uri"),
    types.UnsubscribeRequestParams: Sample({**PARAMS, "uri": "file:///map"}, "uri", None),
    types.ResourceUpdatedNotificationParams: Sample({**NOTICE, "uri": "file:///map"}, "uri"),
    types.PromptArgument: Sample(ARGUMENT, "required", 1),
    types.Prompt: Sample(PROMPT, "name"),
    types.PromptMessage: Sample(MESSAGE, "role", "system"),
    types.ListPromptsResult: _paged("prompts", PROMPT),
    types.GetPromptRequestParams: Sample(
        {**AGAIN, "name": "line-7", "arguments": {"from": ""}}, "arguments", {"from": 1}
    ),
    types.GetPromptResult: Sample({**RESULT, "messages": [MESSAGE], "description": "Plan a trip."}, "messages"),
    types.PromptReference: Sample({"type": "ref/prompt", **NAMED}, "name"),
    types.ResourceTemplateReference: Sample({"type": "ref/resource", "uri": "file:///stops/{stop}"}, "uri"),
    types.CompletionArgument: Sample({"name": "stop", "value": ""}, "value"),
    types.CompletionContext: Sample({"arguments": {"line": "7"}}, "arguments", {"line": 7}),
    types.CompleteRequestParams: Sample(
        {
            **PARAMS,
            "ref": {"type": "ref/prompt", **NAMED},
            "argument": {"name": "stop", "value": "Mi"},
            "context": {"arguments": {"line": "7"}},
        },
        "argument",
    ),
    types.Completion: Sample({"values": ["Mill", "Mint"], "total": 0, "hasMore": False}, "values", [1]),
    types.CompleteResult: Sample({**RESULT, "completion": {"values": []}}, "completion"),
    # What clients offer
    types.Root: Sample(ROOT, "uri"),
    types.ListRootsRequest: Sample({"method": "roots/list", "params": PARAMS}, "method", "roots/get"),
    types.ListRootsResult: Sample({**RESULT, "roots": [ROOT]}, "roots"),
    types.SamplingMessage: Sample(SAMPLING_MESSAGE, "content"),
    types.ModelHint: Sample({"name": "small"}, "name", 1),
    types.ModelPreferences: Sample(
        {"hints": [{"name": "small"}], "costPriority": 0, "speedPriority": 1, "intelligencePriority": 0.5},
        "speedPriority",
        "1",
    ),
    types.ToolChoice: Sample({"mode": "required"}, "mode", "always"),
    types.CreateMessageRequestParams: Sample(CREATE_MESSAGE, "maxTokens", 1.5),
    types.CreateMessageRequest: Sample({"method": "sampling/createMessage", "params": CREATE_MESSAGE}, "params"),
    types.CreateMessageResult: Sample(
        {**RESULT, "role": "assistant", "content": TEXT, "model": "small-1", "stopReason": "endTurn"}, "model"
    ),
    types.EnumOption: Sample(OPTION, "const"),
    types.EnumItems: Sample({"type": "string", "enum": ["w", "a"]}, "enum"),
    types.UntitledEnumItems: Sample({"type": "string", "enum": ["w", "a"]}, "type"),
    types.TitledEnumItems: Sample({"anyOf": [OPTION]}, "anyOf"),
    types.PrimitiveSchemaDefinition: Sample(
        {**LABELLED, "type": "string", "format": "email", "minLength": 0, "maxLength": 9, "default": ""},
        "type",
        "object",
    ),
    types.StringSchema: Sample(
        {**LABELLED, "type": "string", "format": "date-time", "minLength": 0, "maxLength": 9, "default": ""},
        "format",
        "colour",
    ),
    types.NumberSchema: Sample(
        {**LABELLED, "type": "integer", "minimum": -1, "maximum": 9, "default": 0}, "minimum", "0"
    ),
    types.BooleanSchema: Sample({**LABELLED, "type": "boolean", "default": False}, "default", 0),
    types.UntitledSingleSelectEnumSchema: Sample(
        {**LABELLED, "type": "string", "enum": ["w", "a"], "default": "w"}, "enum"
    ),
    types.TitledSingleSelectEnumSchema: Sample(
        {**LABELLED, "type": "string", "oneOf": [OPTION], "default": "w"}, "oneOf"
    ),
    types.LegacyTitledEnumSchema: Sample(
        {**LABELLED, "type": "string", "enum": ["w"], "enumNames": ["Window"], "default": "w"}, "enumNames", "Window"
    ),
    types.UntitledMultiSelectEnumSchema: Sample(
        {
            **LABELLED,
            "type": "array",
            "items": {"type": "string", "enum": ["w", "a"]},
            "minItems": 0,
            "maxItems": 2,
            "default": [],
        },
        "items",
    ),
    types.TitledMultiSelectEnumSchema: Sample(
        {**LABELLED, "type": "array", "items": {"anyOf": [OPTION]}, "minItems": 0, "maxItems": 1, "default": ["w"]},
        "default",
        "w",
    ),
    types.ElicitRequestedSchema: Sample(FORM, "type"),
    types.ElicitRequestParams: Sample(ELICIT_FORM, "message"),
    types.ElicitRequestFormParams: Sample(ELICIT_FORM, "requestedSchema"),
    types.ElicitRequestURLParams: Sample(ELICIT_URL, "url"),
    types.ElicitRequest: Sample({"method": "elicitation/create", "params": ELICIT_FORM}, "params"),
    types.ElicitResult: Sample(
        {**RESULT, "action": "accept", "content": {"name": "Ada", "age": 36, "news": False}}, "action", "ok"
    ),
    types.ElicitationCompleteNotificationParams: Sample({**NOTICE, "elicitationId": "e-1"}, "elicitationId"),
    types.InputRequiredResult: Sample(
        {
            **RESULT,
            "resultType": "input_required",
            "inputRequests": {
                "who": {"method": "elicitation/create", "params": ELICIT_FORM},
                "what": {"method": "sampling/createMessage", "params": CREATE_MESSAGE},
                "where": {"method": "roots/list"},
            },
            "requestState": "c2lnbmVk",
        },
        "inputRequests",
        {"who": {"method": "tools/call", "params": {}}},
    ),
    # Tasks
    types.TaskMetadata: Sample({"ttl": 0}, "ttl", "1 h"),
    types.RelatedTaskMetadata: Sample({"taskId": "t-1"}, "taskId"),
    types.Task: Sample(TASK, "ttl"),
    types.CreateTaskResult: Sample({**RESULT, "task": TASK}, "task"),
    types.GetTaskRequestParams: Sample({**PARAMS, "taskId": "t-1"}, "taskId"),
    types.GetTaskResult: Sample({**RESULT, **TASK}, "status", "lost"),
    types.GetTaskPayloadRequestParams: Sample({**PARAMS, "taskId": "t-1"}, "taskId"),
    types.GetTaskPayloadResult: Sample(RESULT, "_meta", 1),
    types.CancelTaskRequestParams: Sample({**PARAMS, "taskId": "t-1"}, "taskId"),
    types.CancelTaskResult: Sample({**RESULT, **TASK, "status": "cancelled"}, "createdAt"),
    types.ListTasksResult: _paged("tasks", TASK),
    types.TaskStatusNotificationParams: Sample({**NOTICE, **TASK}, "lastUpdatedAt"),
    # What errors carry
    types.UnsupportedProtocolVersionErrorData: Sample(
        {"supported": ["2025-11-25"], "requested": "1999-12-31"}, "supported"
    ),
    types.MissingRequiredClientCapabilityErrorData: Sample(
        {"requiredCapabilities": CLIENT_CAPABILITIES}, "requiredCapabilities"
    ),
    types.URLElicitationRequiredErrorData: Sample({"elicitations": [ELICIT_URL]}, "elicitations"),
    types.ResourceNotFoundErrorData: Sample({"uri": "file:///nowhere"}, "uri"),
}

ENVELOPES: Final[dict[type, JsonObject]] = {
    types.JSONRPCRequest: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "next"}},
    types.JSONRPCNotification: {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}},
    types.JSONRPCResultResponse: {"jsonrpc": "2.0", "id": "a", "result": {"tools": []}},
    types.JSONRPCErrorResponse: {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32602, "message": "no such tool", "data": None},
    },
}
"""A sample of every exported envelope, as JSON."""

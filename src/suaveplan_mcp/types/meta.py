"""The keys the specification reserves in `_meta`. Spec: basic

On the wire structs `_meta` stays a JSON object, because any peer may add keys to it. These structs are views of the
reserved keys, for code that reads them: `msgspec.convert(params.meta, RequestMetaObject)`.
"""

from typing import Final

from msgspec import field

from suaveplan_mcp.jsonrpc.messages import JsonObject, RequestId
from suaveplan_mcp.types.base import WireStruct
from suaveplan_mcp.types.capabilities import ClientCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.logging import LoggingLevel
from suaveplan_mcp.types.progress import ProgressToken

MetaObject = JsonObject
"""What `_meta` holds. Spec: basic"""

PROTOCOL_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_KEY: Final = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK_KEY: Final = "io.modelcontextprotocol/related-task"


class RequestMetaObject(WireStruct, frozen=True, kw_only=True):
    """Read what every request of the stateless era says about its sender.

    Args:
        progress_token: asks for progress notifications that carry it.
        log_level: asks for log messages at this level or above; absent asks for none.

    Spec: basic
    """

    protocol_version: str = field(name=PROTOCOL_VERSION_KEY)
    client_capabilities: ClientCapabilities = field(name=CLIENT_CAPABILITIES_KEY)
    client_info: Implementation | None = field(name=CLIENT_INFO_KEY, default=None)
    log_level: LoggingLevel | None = field(name=LOG_LEVEL_KEY, default=None)
    progress_token: ProgressToken | None = None


class NotificationMetaObject(WireStruct, frozen=True, kw_only=True):
    """Read which subscription a notification belongs to: the id of its `subscriptions/listen` request.

    Spec: basic/patterns/subscriptions
    """

    subscription_id: RequestId | None = field(name=SUBSCRIPTION_ID_KEY, default=None)


class ResultMetaObject(WireStruct, frozen=True, kw_only=True):
    """Read what a result of the stateless era says about the server.

    Spec: basic
    """

    server_info: Implementation | None = field(name=SERVER_INFO_KEY, default=None)


class SubscriptionsListenResultMetaObject(ResultMetaObject, frozen=True, kw_only=True):
    """Read which subscription has ended.

    Spec: basic/patterns/subscriptions
    """

    subscription_id: RequestId = field(name=SUBSCRIPTION_ID_KEY)

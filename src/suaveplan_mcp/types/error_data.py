"""What the specification puts into `data` of certain errors. Spec: basic"""

from suaveplan_mcp.types.base import WireStruct
from suaveplan_mcp.types.capabilities import ClientCapabilities
from suaveplan_mcp.types.elicitation import ElicitRequestURLParams


class UnsupportedProtocolVersionErrorData(WireStruct, frozen=True, kw_only=True):
    """Tell which revisions would have been understood.

    Spec: basic/versioning
    """

    supported: list[str]
    requested: str


class MissingRequiredClientCapabilityErrorData(WireStruct, frozen=True, kw_only=True):
    """Tell what the client would have to be able to do. Stateless era.

    Spec: basic
    """

    required_capabilities: ClientCapabilities


class URLElicitationRequiredErrorData(WireStruct, frozen=True, kw_only=True):
    """Tell where the user has to go before the request is sent again. Last handshake revision only.

    Spec: client/elicitation
    """

    elicitations: list[ElicitRequestURLParams]


class ResourceNotFoundErrorData(WireStruct, frozen=True, kw_only=True):
    """Tell which resource there is not.

    Spec: server/resources
    """

    uri: str

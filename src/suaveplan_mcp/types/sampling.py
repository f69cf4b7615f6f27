"""Asking the client's model. Spec: client/sampling"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import field

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.types.annotations import Role
from suaveplan_mcp.types.base import Result, WireStruct
from suaveplan_mcp.types.content import SamplingMessageContentBlock
from suaveplan_mcp.types.tasks import TaskAugmentedRequestParams
from suaveplan_mcp.types.tools import Tool

IncludeContext: TypeAlias = Literal["allServers", "none", "thisServer"]
"""Whose context the client may add to the prompt; absent means none. Spec: client/sampling"""

ToolChoiceMode: TypeAlias = Literal["auto", "none", "required"]
"""Whether the model may, must not or must use a tool; absent means it may. Spec: client/sampling"""


class SamplingMessage(WireStruct, frozen=True, kw_only=True):
    """Carry one message of the conversation.

    Args:
        content: one block, or from the last handshake revision on a list of them.

    Spec: client/sampling
    """

    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]
    meta: JsonObject | None = field(name="_meta", default=None)


class ModelHint(WireStruct, frozen=True, kw_only=True):
    """Name a model, or a part of a name.

    Spec: client/sampling
    """

    name: str | None = None


class ModelPreferences(WireStruct, frozen=True, kw_only=True):
    """Tell what the choice of a model should weigh. Each priority goes from 0, ignore, to 1, matters most.

    Args:
        hints: the first that fits wins.

    Spec: client/sampling
    """

    hints: list[ModelHint] | None = None
    cost_priority: int | float | None = None
    speed_priority: int | float | None = None
    intelligence_priority: int | float | None = None


class ToolChoice(WireStruct, frozen=True, kw_only=True):
    """Tell whether the model uses tools.

    Spec: client/sampling
    """

    mode: ToolChoiceMode | None = None


class CreateMessageRequestParams(TaskAugmentedRequestParams, frozen=True, kw_only=True):
    """Ask the client's model for a message.

    Args:
        max_tokens: how many tokens it may take; the client may stop sooner.
        metadata: passed to the model's provider as it is.
        tools: what the model may ask the server to call, where the client declared `sampling.tools`.

    Spec: client/sampling
    """

    messages: list[SamplingMessage]
    max_tokens: int
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: IncludeContext | None = None
    temperature: int | float | None = None
    stop_sequences: list[str] | None = None
    metadata: JsonObject | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None


class CreateMessageRequest(WireStruct, frozen=True, kw_only=True, tag_field="method", tag="sampling/createMessage"):
    """Ask the client's model from inside an input-required result.

    Spec: basic/patterns/mrtr
    """

    method: ClassVar[Literal["sampling/createMessage"]] = "sampling/createMessage"
    params: CreateMessageRequestParams


class CreateMessageResult(Result, frozen=True, kw_only=True):
    """Give the message the model wrote.

    Args:
        content: one block, or from the last handshake revision on a list of them.
        model: the name of the model.
        stop_reason: `"endTurn"`, `"stopSequence"`, `"maxTokens"`, `"toolUse"` or the provider's own.

    Spec: client/sampling
    """

    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]
    model: str
    stop_reason: str | None = None

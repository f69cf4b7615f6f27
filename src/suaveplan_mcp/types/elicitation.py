"""Asking the client's user, by a form or at an address. Spec: client/elicitation"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import field

from suaveplan_mcp.types.base import NotificationParams, Result, WireStruct
from suaveplan_mcp.types.tasks import TaskAugmentedRequestParams

ElicitAction: TypeAlias = Literal["accept", "cancel", "decline"]
"""What the user did: sent the form, dismissed it, or said no. Spec: client/elicitation"""

ElicitValue: TypeAlias = str | int | float | bool | list[str]
"""What a field of a form may hold. Spec: client/elicitation"""

StringFormat: TypeAlias = Literal["date", "date-time", "email", "uri"]
"""The formats a text field may ask for. Spec: client/elicitation"""


class EnumOption(WireStruct, frozen=True, kw_only=True):
    """Give a choice a title.

    Args:
        const: what is sent.
        title: what is shown.

    Spec: client/elicitation
    """

    const: str
    title: str


class EnumItems(WireStruct, frozen=True, kw_only=True):
    """Hold the choices of a list: `enum` or `any_of` is there.

    This is what decoding gives. Build `UntitledEnumItems` or `TitledEnumItems`.

    Raises:
        ValueError: neither is there.

    Spec: client/elicitation
    """

    type: Literal["string"] | None = None
    enum: list[str] | None = None
    any_of: list[EnumOption] | None = None

    def __post_init__(self) -> None:
        """Refuse a choice between nothing."""
        if self.enum is None and self.any_of is None:
            raise ValueError("Object missing required field `enum` or `anyOf`")


class UntitledEnumItems(EnumItems, frozen=True, kw_only=True):
    """Hold choices that are shown as they are sent.

    Spec: client/elicitation
    """

    type: Literal["string"] = field()
    enum: list[str] = field()


class TitledEnumItems(EnumItems, frozen=True, kw_only=True):
    """Hold choices with titles.

    Spec: client/elicitation
    """

    any_of: list[EnumOption] = field()


class PrimitiveSchemaDefinition(WireStruct, frozen=True, kw_only=True):
    """Describe one field of a form.

    This is what decoding gives. Build one of the subclasses, which say what each kind of field may have.

    Args:
        type: an `"array"` is a choice of several `items`.
        enum: the choices of a text field, with titles in `enum_names` in an old form and in `one_of` in the new one.

    Raises:
        ValueError: an array has no `items`.

    Spec: client/elicitation
    """

    type: Literal["string", "number", "integer", "boolean", "array"]
    title: str | None = None
    description: str | None = None
    default: ElicitValue | None = None
    format: StringFormat | None = None
    min_length: int | None = None
    max_length: int | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    enum: list[str] | None = None
    enum_names: list[str] | None = None
    one_of: list[EnumOption] | None = None
    items: EnumItems | None = None
    min_items: int | None = None
    max_items: int | None = None

    def __post_init__(self) -> None:
        """Refuse a list of nothing."""
        if self.type == "array" and self.items is None:
            raise ValueError("Object missing required field `items`")


class StringSchema(PrimitiveSchemaDefinition, frozen=True, kw_only=True):
    """Describe a text field.

    Spec: client/elicitation
    """

    type: Literal["string"]
    default: str | None = None


class NumberSchema(PrimitiveSchemaDefinition, frozen=True, kw_only=True):
    """Describe a number field.

    Spec: client/elicitation
    """

    type: Literal["number", "integer"]
    default: int | float | None = None


class BooleanSchema(PrimitiveSchemaDefinition, frozen=True, kw_only=True):
    """Describe a field for yes or no.

    Spec: client/elicitation
    """

    type: Literal["boolean"]
    default: bool | None = None


class UntitledSingleSelectEnumSchema(PrimitiveSchemaDefinition, frozen=True, kw_only=True):
    """Describe a choice of one, shown as it is sent.

    Spec: client/elicitation
    """

    type: Literal["string"]
    enum: list[str] = field()
    default: str | None = None


class TitledSingleSelectEnumSchema(PrimitiveSchemaDefinition, frozen=True, kw_only=True):
    """Describe a choice of one, with titles.

    Spec: client/elicitation
    """

    type: Literal["string"]
    one_of: list[EnumOption] = field()
    default: str | None = None


class LegacyTitledEnumSchema(PrimitiveSchemaDefinition, frozen=True, kw_only=True):
    """Describe a choice of one the way the first revision with forms did.

    Args:
        enum_names: a title for each of `enum`, in its order.

    Spec: client/elicitation
    """

    type: Literal["string"]
    enum: list[str] = field()
    enum_names: list[str] | None = None
    default: str | None = None


class UntitledMultiSelectEnumSchema(PrimitiveSchemaDefinition, frozen=True, kw_only=True):
    """Describe a choice of several, shown as they are sent.

    Spec: client/elicitation
    """

    type: Literal["array"]
    items: UntitledEnumItems = field()
    default: list[str] | None = None


class TitledMultiSelectEnumSchema(PrimitiveSchemaDefinition, frozen=True, kw_only=True):
    """Describe a choice of several, with titles.

    Spec: client/elicitation
    """

    type: Literal["array"]
    items: TitledEnumItems = field()
    default: list[str] | None = None


class ElicitRequestedSchema(WireStruct, frozen=True, kw_only=True):
    """Describe a form: a flat object of primitive fields.

    Args:
        schema: the dialect, `$schema` on the wire.

    Spec: client/elicitation
    """

    type: Literal["object"]
    properties: dict[str, PrimitiveSchemaDefinition]
    required: list[str] | None = None
    schema: str | None = field(name="$schema", default=None)


class ElicitRequestParams(TaskAugmentedRequestParams, frozen=True, kw_only=True):
    """Ask the client's user.

    This is what decoding gives. Build `ElicitRequestFormParams` or `ElicitRequestURLParams`.

    Args:
        message: what is wanted and why, for the user.
        mode: absent means a form.
        requested_schema: the form; there unless `mode` is `"url"`.
        url: where to send the user; there if `mode` is `"url"`.
        elicitation_id: what `notifications/elicitation/complete` will name. Last handshake revision only.

    Raises:
        ValueError: what the mode needs is not there.

    Spec: client/elicitation
    """

    message: str
    mode: Literal["form", "url"] | None = None
    requested_schema: ElicitRequestedSchema | None = None
    url: str | None = None
    elicitation_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse a question without what its mode needs."""
        if self.mode == "url":
            if self.url is None:
                raise ValueError("Object missing required field `url`")
        elif self.requested_schema is None:
            raise ValueError("Object missing required field `requestedSchema`")


class ElicitRequestFormParams(ElicitRequestParams, frozen=True, kw_only=True):
    """Ask the client's user to fill in a form.

    Spec: client/elicitation
    """

    mode: Literal["form"] | None = None
    requested_schema: ElicitRequestedSchema = field()


class ElicitRequestURLParams(ElicitRequestParams, frozen=True, kw_only=True):
    """Send the client's user to an address, for what must not pass through the client.

    Spec: client/elicitation
    """

    mode: Literal["url"] = field()
    url: str = field()


class ElicitRequest(WireStruct, frozen=True, kw_only=True, tag_field="method", tag="elicitation/create"):
    """Ask the client's user from inside an input-required result.

    Spec: basic/patterns/mrtr
    """

    method: ClassVar[Literal["elicitation/create"]] = "elicitation/create"
    params: ElicitRequestParams


class ElicitResult(Result, frozen=True, kw_only=True):
    """Give the user's answer.

    Args:
        content: the fields of the form, only when `action` is `"accept"`.

    Spec: client/elicitation
    """

    action: ElicitAction
    content: dict[str, ElicitValue] | None = None


class ElicitationCompleteNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """Tell that the user has done what an address asked. Last handshake revision only.

    Spec: client/elicitation
    """

    elicitation_id: str

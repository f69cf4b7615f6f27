"""What every wire type is built on: the struct settings, `_meta`, and the raw form of what was received.

Three rules hold in the whole room. Optional fields are `X | None = None` and leave the wire when they are None; `UNSET`
stands only where `null` is a value of its own. A constant that tells objects apart is a msgspec tag, readable as a
class attribute. Where the specification joins objects that no constant tells apart, one flat struct is decoded
(`ResourceContents`, `ElicitRequestParams`, `PrimitiveSchemaDefinition`), and narrower subclasses with the
specification's names are there to build values; `= field()` in them makes a field required again.
"""

from msgspec import Raw, Struct, field

from suaveplan_mcp.jsonrpc.messages import JsonObject


class WireStruct(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Give a wire type its settings: frozen, keyword-only, camelCase on the wire, None left out.

    Members the struct does not know are ignored; a value that must be passed on whole keeps its raw form (`Received`).
    `kw_only` is not inherited: every subclass repeats it.
    """


class Received(WireStruct, frozen=True, kw_only=True, dict=True):
    """Let a value remember the JSON it was decoded from, so that a proxy or a cache can pass it on unchanged."""

    @property
    def raw(self) -> Raw | None:
        """The JSON as it was received, None for a value made here. No part of equality, repr or encoding."""
        raw: Raw | None = self.__dict__.get("raw")
        return raw


def keep_raw(value: Received, raw: Raw) -> None:
    """Attach the JSON a value was decoded from.

    Args:
        value: what was decoded.
        raw: its JSON. A `Raw` keeps the buffer it points into alive; copy it where the buffer is much larger.
    """
    vars(value)["raw"] = raw


class RequestParams(WireStruct, frozen=True, kw_only=True):
    """Hold the params of a request that has none of its own, and base those that have.

    Args:
        meta: `_meta` as sent: the progress token, from the stateless era on `RequestMetaObject`, and anything else.

    Spec: basic
    """

    meta: JsonObject | None = field(name="_meta", default=None)


class NotificationParams(WireStruct, frozen=True, kw_only=True):
    """Hold the params of a notification that has none of its own, and base those that have.

    Spec: basic
    """

    meta: JsonObject | None = field(name="_meta", default=None)


class Result(Received, frozen=True, kw_only=True):
    """Base every result.

    Args:
        meta: `_meta` as sent.
        result_type: `"complete"`, `"input_required"` or an extension's own; only the stateless era sends it, and sets
            it when the result is sealed. Absent means complete.

    Spec: basic
    """

    meta: JsonObject | None = field(name="_meta", default=None)
    result_type: str | None = None

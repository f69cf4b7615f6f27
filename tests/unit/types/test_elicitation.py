import json

import msgspec
import pytest

from suaveplan_mcp import types
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.types import (
    ElicitRequestedSchema,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    PrimitiveSchemaDefinition,
    StringSchema,
)
from tests.unit.types.samples import FORM, SAMPLES

FIELDS = [
    types.StringSchema,
    types.NumberSchema,
    types.BooleanSchema,
    types.UntitledSingleSelectEnumSchema,
    types.TitledSingleSelectEnumSchema,
    types.LegacyTitledEnumSchema,
    types.UntitledMultiSelectEnumSchema,
    types.TitledMultiSelectEnumSchema,
]


@pytest.mark.parametrize("kind", FIELDS)
def test_every_kind_of_field_decodes_as_a_field(kind: type[PrimitiveSchemaDefinition]) -> None:
    wire = SAMPLES[kind].wire
    assert issubclass(kind, PrimitiveSchemaDefinition)
    assert wire == json.loads(encode(msgspec.json.decode(json.dumps(wire), type=PrimitiveSchemaDefinition)))


def test_choice_of_several_needs_choices() -> None:
    with pytest.raises(msgspec.ValidationError, match="`items`"):
        msgspec.json.decode(b'{"type":"array"}', type=PrimitiveSchemaDefinition)
    with pytest.raises(msgspec.ValidationError, match="`enum` or `anyOf`"):
        msgspec.json.decode(b'{"type":"array","items":{"type":"string"}}', type=PrimitiveSchemaDefinition)


@pytest.mark.parametrize("mode", [{}, {"mode": "form"}, {"mode": None}])
def test_a_form_needs_no_mode_but_a_schema(mode: JsonObject) -> None:
    params = msgspec.json.decode(
        json.dumps({"message": "Who?", "requestedSchema": FORM, **mode}), type=ElicitRequestParams
    )
    assert params.requested_schema is not None
    assert {"name", "age", "news"} == set(params.requested_schema.properties)
    with pytest.raises(msgspec.ValidationError, match="`requestedSchema`"):
        msgspec.json.decode(json.dumps({"message": "Who?", **mode}), type=ElicitRequestParams)


def test_an_address_needs_a_url() -> None:
    params = msgspec.json.decode(b'{"message":"Pay","mode":"url","url":"https://a"}', type=ElicitRequestParams)
    assert ("url", "https://a", None) == (params.mode, params.url, params.elicitation_id)
    with pytest.raises(msgspec.ValidationError, match="`url`"):
        msgspec.json.decode(b'{"message":"Pay","mode":"url"}', type=ElicitRequestParams)


def test_questions_made_by_their_name_read_like_received_ones() -> None:
    schema = ElicitRequestedSchema(type="object", properties={"name": StringSchema(type="string")})
    form: ElicitRequestParams = ElicitRequestFormParams(message="Who?", requested_schema=schema)
    url: ElicitRequestParams = ElicitRequestURLParams(mode="url", message="Pay", url="https://a")
    assert b'{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}' == encode(
        form
    )
    assert b'{"message":"Pay","mode":"url","url":"https://a"}' == encode(url)


def test_a_field_of_an_unknown_type_is_refused_with_its_place() -> None:
    wire = b'{"type":"object","properties":{"a":{"type":"object"}}}'
    with pytest.raises(msgspec.ValidationError, match=r"'object' - at `\$\.properties\[\.\.\.\]\.type`"):
        msgspec.json.decode(wire, type=ElicitRequestedSchema)


def test_answers_keep_their_json_types() -> None:
    content = {"text": "", "whole": 0, "part": 1.0, "yes": True, "several": ["a"]}
    result = msgspec.json.decode(json.dumps({"action": "accept", "content": content}), type=ElicitResult)
    assert result.content is not None
    assert content == result.content
    assert [str, int, float, bool, list] == [type(value) for value in result.content.values()]

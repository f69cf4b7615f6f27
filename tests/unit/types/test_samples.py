import json
from typing import get_args

import msgspec
import pytest

from suaveplan_mcp import types
from suaveplan_mcp.jsonrpc.codec import decode_message, encode
from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.types import Received, WireStruct
from tests.unit.types.samples import ENVELOPES, SAMPLES

ABSTRACT = {WireStruct, Received}
NEEDS_ONE_OF_ITS_OPTIONAL_FIELDS = {types.ResourceContents, types.EnumItems, types.ElicitRequestParams}
STRUCTS = sorted(SAMPLES, key=lambda struct: struct.__name__)


def canonical(value: object) -> str:
    """Write a decoded JSON value so that 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


def exported_structs() -> set[type]:
    exported = (getattr(types, name) for name in types.__all__)
    return {value for value in exported if isinstance(value, type) and issubclass(value, WireStruct)}


@pytest.mark.requirement("wire-types-have-one-source")
def test_every_exported_struct_has_a_sample() -> None:
    assert exported_structs() - ABSTRACT == set(SAMPLES)


@pytest.mark.requirement("wire-types-have-one-source")
@pytest.mark.parametrize("struct", STRUCTS)
def test_sample_comes_back_as_the_same_json(struct: type[WireStruct]) -> None:
    wire = SAMPLES[struct].wire
    value = msgspec.json.decode(json.dumps(wire), type=struct)
    assert canonical(wire) == canonical(json.loads(encode(value)))


@pytest.mark.requirement("wire-types-have-one-source")
@pytest.mark.parametrize("struct", STRUCTS)
def test_broken_sample_is_refused_by_the_name_of_the_field(struct: type[WireStruct]) -> None:
    sample = SAMPLES[struct]
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(json.dumps(sample.broken), type=struct)
    assert sample.breaks in str(caught.value)


@pytest.mark.parametrize("struct", STRUCTS)
def test_struct_cannot_be_changed(struct: type[WireStruct]) -> None:
    value = msgspec.json.decode(json.dumps(SAMPLES[struct].wire), type=struct)
    for name in struct.__struct_fields__:
        with pytest.raises(AttributeError, match="immutable"):
            setattr(value, name, None)


@pytest.mark.parametrize("struct", STRUCTS)
def test_members_nobody_knows_are_ignored(struct: type[WireStruct]) -> None:
    wire = SAMPLES[struct].wire
    value = msgspec.json.decode(json.dumps({**wire, "x-vendor": [7]}), type=struct)
    assert canonical(wire) == canonical(json.loads(encode(value)))


@pytest.mark.parametrize("struct", [struct for struct in STRUCTS if struct not in NEEDS_ONE_OF_ITS_OPTIONAL_FIELDS])
def test_null_reads_as_absent_where_a_field_may_be_absent(struct: type[WireStruct]) -> None:
    optional = [field for field in msgspec.structs.fields(struct) if not field.required and field.default is None]
    wire = {**SAMPLES[struct].wire, **{field.encode_name: None for field in optional}}
    value = msgspec.json.decode(json.dumps(wire), type=struct)
    assert [None] * len(optional) == [getattr(value, field.name) for field in optional]


def test_every_exported_envelope_has_a_sample_and_is_a_message() -> None:
    exported = {getattr(types, name) for name in types.__all__ if name.startswith("JSONRPC")}
    assert exported - {types.JSONRPCMessage} == set(ENVELOPES)
    assert set() == set(ENVELOPES) - set(get_args(types.JSONRPCMessage))


@pytest.mark.parametrize(("envelope", "wire"), ENVELOPES.items())
def test_an_envelope_comes_back_as_the_same_json(envelope: type, wire: JsonObject) -> None:
    message = decode_message(json.dumps(wire).encode())
    assert envelope is type(message)
    assert canonical(wire) == canonical(json.loads(encode(message)))

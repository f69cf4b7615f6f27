"""Our structs against the official schema of every revision."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect

from suaveplan_mcp import types
from suaveplan_mcp.types import WireStruct
from tests.unit.types.kinds import fits, kinds_of_annotation, kinds_of_schema, values_of_annotation, values_of_schema
from tests.unit.types.official import NOWHERE, Members, Schema, load
from tests.unit.types.samples import SAMPLES

STRUCTS = sorted(SAMPLES, key=lambda struct: struct.__name__)

ENVELOPE = {"jsonrpc": "2.0", "id": 0}
"""Inside an input-required result a request has no envelope; the schemas of the handshake era show it with one."""

BY_THE_ERA = {"_meta", "resultType", "ttlMs", "cacheScope"}
"""Members one revision demands; which revision is spoken, only the era knows, so it checks and sets them."""

JOINED = {types.PrimitiveSchemaDefinition, types.ElicitRequestParams, types.ResourceContents}
"""Flat structs: each has the members of all the definitions that are decoded into it."""


MIXED_IN = {"Annotated", "BaseMetadata", "Icons"}
"""Objects that only lend their members to others."""

ELSEWHERE = ("Request", "Notification", "Response", "Error")
"""How the names of envelopes end; those are JSON-RPC's business, and `protocol/methods.py` lists what they carry."""

RENAMED = {"ResourceReference": "ResourceTemplateReference", "EnumSchema": "LegacyTitledEnumSchema"}

UNIONS = {
    "ClientResult",
    "ContentBlock",
    "EnumSchema",
    "InputRequest",
    "InputResponse",
    "JSONRPCMessage",
    "MultiSelectEnumSchema",
    "SamplingMessageContentBlock",
    "ServerResult",
    "SingleSelectEnumSchema",
}
"""Names for a choice between objects that have structs."""


def annotations(struct: type[WireStruct]) -> dict[str, inspect.Type]:
    """Return the fields of a struct by their wire names, the tag among them."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    fields = {field.encode_name: field.type for field in info.fields}
    if info.tag_field is not None:
        fields[info.tag_field] = inspect.LiteralType((info.tag,))
    return fields


def places(struct: type[WireStruct], folder: Path) -> Iterator[tuple[Schema, Members]]:
    """Yield each schema that describes a struct, with the members it gives it."""
    for schema in load(folder):
        place = schema.find(struct)
        if place is not None:
            yield schema, schema.members(place.node)


@pytest.mark.requirement("wire-types-have-one-source")
@pytest.mark.parametrize("struct", STRUCTS)
def test_struct_is_described_by_a_schema(struct: type[WireStruct], spec_dir: Path) -> None:
    described = any(True for _ in places(struct, spec_dir))
    assert described == (struct not in NOWHERE)


@pytest.mark.requirement("wire-types-have-one-source")
@pytest.mark.parametrize("struct", STRUCTS)
def test_struct_has_every_member_of_every_schema(struct: type[WireStruct], spec_dir: Path) -> None:
    ours = set(annotations(struct)) | set(ENVELOPE)
    missing = {schema.revision: set(members.known) - ours for schema, members in places(struct, spec_dir)}
    assert {} == {revision: names for revision, names in missing.items() if names}


@pytest.mark.requirement("wire-types-have-one-source")
@pytest.mark.parametrize("struct", [struct for struct in STRUCTS if struct not in JOINED | NOWHERE])
def test_struct_adds_no_member_that_no_schema_has(struct: type[WireStruct], spec_dir: Path) -> None:
    inherited = {field.encode_name for base in struct.__bases__ for field in _fields(base)}
    known = {name for _, members in places(struct, spec_dir) for name in members.known}
    assert set() == set(annotations(struct)) - inherited - known


def _fields(base: type) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(base) if issubclass(base, WireStruct) else ()


@pytest.mark.parametrize("struct", STRUCTS)
def test_struct_demands_only_what_every_schema_demands(struct: type[WireStruct], spec_dir: Path) -> None:
    required = {field.encode_name for field in msgspec.structs.fields(struct) if field.required}
    excess = {schema.revision: required - members.required for schema, members in places(struct, spec_dir)}
    assert {} == {revision: names for revision, names in excess.items() if names}


@pytest.mark.parametrize("struct", [struct for struct in STRUCTS if struct not in NOWHERE])
def test_struct_demands_what_every_schema_demands(struct: type[WireStruct], spec_dir: Path) -> None:
    required = {field.encode_name for field in msgspec.structs.fields(struct) if field.required}
    tag = {struct.__struct_config__.tag_field}
    demanded = frozenset.intersection(*(members.required for _, members in places(struct, spec_dir)))
    assert set() == demanded - required - tag - BY_THE_ERA - set(ENVELOPE)


@pytest.mark.parametrize("struct", STRUCTS)
def test_fields_hold_what_the_schemas_allow(struct: type[WireStruct], spec_dir: Path) -> None:
    fields = annotations(struct)
    refused = [
        (schema.revision, name, kind)
        for schema, members in places(struct, spec_dir)
        for name, node in members.known.items()
        for kind in kinds_of_schema(schema, node)
        if name not in ENVELOPE and not fits(kind, kinds_of_annotation(fields[name]))
    ]
    assert [] == refused


@pytest.mark.parametrize("struct", STRUCTS)
def test_fields_hold_nothing_that_no_schema_allows(struct: type[WireStruct], spec_dir: Path) -> None:
    allowed: dict[str, set[str]] = {}
    for schema, members in places(struct, spec_dir):
        for name, node in members.known.items():
            allowed.setdefault(name, set()).update(kinds_of_schema(schema, node))
    loose = [
        (name, kind)
        for name, info in annotations(struct).items()
        for kind in kinds_of_annotation(info)
        if name in allowed and not fits(kind, allowed[name] | _any_fraction(allowed[name]))
    ]
    assert [] == loose


def _any_fraction(kinds: set[str]) -> set[str]:
    """Return the fractions beside whole numbers: the schemas call some members integers that the text calls numbers."""
    return {kind.removesuffix("integer") + "number" for kind in kinds if kind.endswith("integer")}


@pytest.mark.parametrize("struct", STRUCTS)
def test_constants_are_those_of_the_schemas(struct: type[WireStruct], spec_dir: Path) -> None:
    official: dict[str, set[object]] = {}
    for schema, members in places(struct, spec_dir):
        for name, node in members.known.items():
            official.setdefault(name, set()).update(values_of_schema(schema, node))
    ours = {name: values_of_annotation(info) for name, info in annotations(struct).items() if name in official}
    assert {name: official[name] for name in ours} == ours


@pytest.mark.parametrize("struct", STRUCTS)
def test_sample_is_valid_in_every_revision_that_has_the_struct(struct: type[WireStruct], spec_dir: Path) -> None:
    sample = {**ENVELOPE, **SAMPLES[struct].wire} if struct.__name__.endswith("Request") else SAMPLES[struct].wire
    complaints = {
        schema.revision: schema.complain(place, sample)
        for schema in load(spec_dir)
        if (place := schema.find(struct)) is not None
    }
    assert {} == {revision: found for revision, found in complaints.items() if found}


def test_validation_against_the_schemas_can_fail(spec_dir: Path) -> None:
    for schema in load(spec_dir):
        place = schema.find(types.CallToolRequestParams)
        assert place is not None
        assert schema.complain(place, {"name": 7}) != []


@pytest.mark.requirement("wire-types-have-one-source")
def test_every_object_of_every_schema_has_a_struct(spec_dir: Path) -> None:
    ours = {struct.__name__ for struct in STRUCTS}
    without = {
        name
        for schema in load(spec_dir)
        for name, node in schema.definitions.items()
        if schema.members(node).known and not name.endswith(ELSEWHERE) and RENAMED.get(name, name) not in ours
    }
    assert MIXED_IN == without - UNIONS

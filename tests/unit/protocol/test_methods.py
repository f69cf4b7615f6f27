"""THE table, by itself and against the official schema of every revision."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from suaveplan_mcp.protocol import methods
from suaveplan_mcp.protocol.methods import (
    METHODS,
    ROWS,
    Method,
    Side,
    capability_in,
    find,
    index_methods,
    lives_in,
)
from suaveplan_mcp.protocol.revisions import (
    LATEST,
    LATEST_HANDSHAKE,
    REVISIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
)
from suaveplan_mcp.types import (
    CallToolRequestParams,
    CompleteResult,
    EmptyResult,
    NotificationParams,
    PaginatedRequestParams,
    RequestParams,
)
from tests.unit.types.official import Schema, load

SIDES: tuple[Side, Side] = ("client", "server")
OURS = [row for row in ROWS if (row.capability or "").startswith("experimental.")]
OFFICIAL = [row for row in ROWS if row not in OURS]


def row_id(row: Method) -> str:
    return f"{row.name} from {row.sender}"


def senders(row: Method) -> tuple[Side, ...]:
    return tuple(side for side in SIDES if row.sender in (side, "either"))


def required(name: str, sender: Side) -> Method:
    method = find(name, sender)
    assert method is not None
    return method


def messages(schema: Schema) -> Iterator[tuple[str, Side, str]]:
    """Yield the definition, sender and kind of every message of a revision."""
    for side in SIDES:
        for kind in ("request", "notification"):
            union = schema.definitions.get(f"{side.title()}{kind.title()}", {"anyOf": []})
            for branch in union.get("anyOf", [union]):
                name = branch["$ref"].rsplit("/", 1)[1] if "$ref" in branch else _named(schema, branch)
                yield name, side, kind


def _named(schema: Schema, node: dict[str, Any]) -> str:
    """Find the name of a definition that a union of one repeats instead of referring to it."""
    method = node["properties"]["method"]["const"]
    return next(
        name
        for name, other in schema.definitions.items()
        if name != "ClientNotification" and _method_of(other) == method
    )


def _method_of(node: dict[str, Any]) -> str | None:
    return node.get("properties", {}).get("method", {}).get("const")


def method_name(schema: Schema, definition: str) -> str:
    name = _method_of(schema.definitions[definition])
    assert name is not None
    return name


def test_table_has_each_message_in_the_revisions_that_have_it(spec_dir: Path) -> None:
    official: dict[tuple[str, Side, str], list[str]] = {}
    for schema in load(spec_dir):
        for definition, side, kind in messages(schema):
            official.setdefault((method_name(schema, definition), side, kind), []).append(schema.revision)
    ours = {
        (row.name, side, row.kind): [revision for revision in REVISIONS if lives_in(row, revision)]
        for row in OFFICIAL
        for side in senders(row)
    }
    assert official == ours


def test_table_has_every_method_a_schema_mentions(spec_dir: Path) -> None:
    mentioned = {_method_of(node) for schema in load(spec_dir) for node in schema.definitions.values()} - {None}
    assert mentioned == set(METHODS)


def test_methods_that_are_no_messages_are_input_requests(spec_dir: Path) -> None:
    schema = load(spec_dir)[-1]
    asked = {
        schema.resolve(branch)["properties"]["method"]["const"]
        for branch in schema.definitions["InputRequest"]["anyOf"]
    }
    mentioned = {_method_of(node) for node in schema.definitions.values()} - {None}
    alive = {row.name for row in ROWS if lives_in(row, LATEST)}
    assert asked == mentioned - alive


def test_params_and_results_have_the_types_of_the_schema(spec_dir: Path) -> None:
    wrong: list[tuple[str, str]] = []
    for schema in load(spec_dir):
        for definition, side, kind in messages(schema):
            row = required(method_name(schema, definition), side)
            reference = (
                schema.definitions[definition]["properties"].get("params", {}).get("$ref", f"/{definition}Params")
            )
            names = {reference.rsplit("/", 1)[1]}
            if reference == f"/{definition}Params":
                # Written inside the request, such params have no name, and those of lists and bare messages are shared.
                names |= {kind.__name__ for kind in (PaginatedRequestParams, RequestParams, NotificationParams)}
            if row.params.__name__ not in names:
                wrong.append((row.name, row.params.__name__))
            result = definition.removesuffix("Request") + "Result"
            expected = None if kind == "notification" else result if result in schema.definitions else "EmptyResult"
            if expected != (row.result and row.result.__name__):
                wrong.append((row.name, str(row.result)))
    assert [] == wrong


def test_cacheable_are_the_methods_whose_result_has_a_time_to_live(spec_dir: Path) -> None:
    schema = load(spec_dir)[-1]
    official = {
        method_name(schema, definition)
        for definition, _, kind in messages(schema)
        if kind == "request"
        and "ttlMs" in schema.members({"$ref": f"/{definition.removesuffix('Request')}Result"}).known
    }
    assert official == {row.name for row in ROWS if row.cacheable}


@pytest.mark.parametrize("row", OFFICIAL, ids=row_id)
def test_capability_is_one_the_receiver_can_declare(row: Method, spec_dir: Path) -> None:
    unknown: list[str] = []
    for schema in load(spec_dir):
        capability = capability_in(row, schema.revision) if lives_in(row, schema.revision) else None
        for side in senders(row):
            node = schema.definitions["ServerCapabilities" if side == "client" else "ClientCapabilities"]
            for step in capability.split(".") if capability else ():
                known = schema.members(node).known
                if step not in known:
                    unknown.append(f"{schema.revision}: {capability}")
                node = known.get(step, {})
    assert [] == unknown


def test_our_own_rows_are_two_and_end_with_the_handshake_era() -> None:
    assert [
        ("completion/complete", "server", LATEST_HANDSHAKE, f"experimental.{methods.CLIENT_COMPLETIONS}"),
        ("roots/list", "client", LATEST_HANDSHAKE, f"experimental.{methods.SERVER_ROOTS}"),
    ] == [(row.name, row.sender, row.last, row.capability) for row in OURS]


def test_no_name_and_sender_has_two_rows() -> None:
    found = [(row.name, side) for row in ROWS for side in senders(row)]
    assert len(set(found)) == len(found)


def test_find_tells_senders_apart() -> None:
    assert find("ping", "client") is find("ping", "server") is not None
    assert (None, V2024_11_05) == (find("tools/list", "server"), required("tools/list", "client").first)
    assert (None, LATEST_HANDSHAKE) == tuple(required("notifications/progress", side).last for side in reversed(SIDES))


def test_find_knows_no_other_names() -> None:
    assert find("tools/fly", "client") is None


def test_rows_of_an_extension_replace_and_add() -> None:
    mine = Method("ping", "request", "client", NotificationParams, EmptyResult)
    other = Method("trams/wave", "notification", "server", NotificationParams)
    table = index_methods([*ROWS, mine, other])
    assert mine is table["ping"]["client"]
    assert find("ping", "server") is table["ping"]["server"]
    assert {"server": other} == table["trams/wave"]
    assert "trams/wave" not in METHODS


@pytest.mark.parametrize(
    ("name", "sender", "lives"),
    [
        ("ping", "client", [True, True, True, True, False]),
        ("tools/call", "client", [True] * 5),
        ("elicitation/create", "server", [False, False, True, True, False]),
        ("tasks/get", "server", [False, False, False, True, False]),
        ("server/discover", "client", [False, False, False, False, True]),
    ],
)
def test_lives_in_counts_both_ends(name: str, sender: Side, lives: list[bool]) -> None:
    assert lives == [lives_in(required(name, sender), revision) for revision in REVISIONS]


def test_completion_needs_no_capability_before_there_was_one() -> None:
    complete = required("completion/complete", "client")
    assert [None, "completions"] == [capability_in(complete, revision) for revision in (V2024_11_05, V2025_03_26)]
    assert "elicitation" == capability_in(required("elicitation/create", "server"), V2025_06_18)
    assert capability_in(required("initialize", "client"), V2025_11_25) is None


def complaint(row: Method) -> str:
    """Return what the decoder of a method says to params that were not sent."""
    try:
        row.params_decoder.decode(b"{}")
    except msgspec.ValidationError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_params_that_were_not_sent_fail_only_for_a_required_field(row: Method) -> None:
    needed = [field.encode_name for field in msgspec.structs.fields(row.params) if field.required]
    expected = f"Object missing required field `{needed[0]}`" if needed else ""
    assert expected == complaint(row)


def test_decoders_are_made_once_and_shared_by_type() -> None:
    tools, prompts = required("tools/list", "client"), required("prompts/list", "client")
    assert tools.params_decoder is tools.params_decoder is prompts.params_decoder
    assert tools.result_decoder is tools.result_decoder is not prompts.result_decoder


def test_decoders_decode_into_the_types_of_the_row() -> None:
    call = required("tools/call", "client")
    complete = required("completion/complete", "client")
    assert CallToolRequestParams(name="wave") == call.params_decoder.decode(b'{"name":"wave"}')
    assert isinstance(complete.result_decoder.decode(b'{"completion":{"values":[]}}'), CompleteResult)


def test_notification_has_no_result_decoder() -> None:
    with pytest.raises(AttributeError, match="notifications/cancelled has no result"):
        _ = required("notifications/cancelled", "client").result_decoder


def test_rows_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        required("ping", "client").last = None  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        METHODS["ping"] = {}  # pyright: ignore[reportIndexIssue]

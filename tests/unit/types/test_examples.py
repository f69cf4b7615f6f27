"""The official examples: each decodes into its type and comes back with nothing lost."""

import json
from pathlib import Path
from typing import Any

import msgspec

from suaveplan_mcp import types
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import ErrorObject
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.protocol.revisions import LATEST

ENVELOPE = {"jsonrpc", "id", "method"}


def through(kind: object, value: object) -> Any:
    """Decode JSON into a type and encode it again."""
    return json.loads(encode(msgspec.json.decode(json.dumps(value), type=kind)))


def through_params(example: dict[str, Any]) -> dict[str, Any]:
    """Send a request or a notification through the params type of its method."""
    method = next(iter(METHODS[example["method"]].values()))
    rest = {name: value for name, value in example.items() if name in ENVELOPE}
    if "params" not in example:
        assert msgspec.json.encode(method.params_decoder.decode(b"{}")) == b"{}"
        return rest
    return {**rest, "params": through(method.params, example["params"])}


def through_error(name: str, example: dict[str, Any]) -> dict[str, Any]:
    """Send an error, inside its envelope or without one, through its data type."""
    if "error" in example:
        return {**example, "error": through_error(name, example["error"])}
    error = through(ErrorObject, example)
    kind = getattr(types, f"{name}Data", None)
    return {**error, "data": through(kind, error["data"])} if kind else error


def without_false_errors(value: Any) -> Any:
    """Leave out `"isError": false`, which says what its absence says."""
    if isinstance(value, dict):
        return {key: without_false_errors(item) for key, item in value.items() if (key, item) != ("isError", False)}
    return value


def through_its_type(name: str, example: dict[str, Any]) -> dict[str, Any]:
    """Send an example through whatever its folder is named after."""
    if name.endswith("ResultResponse"):
        return {**example, "result": through(getattr(types, name.removesuffix("Response")), example["result"])}
    if name.endswith("Error"):
        return through_error(name, example)
    if "method" in example:
        return through_params(example)
    return through(getattr(types, name), example)


def test_official_examples_come_back_with_nothing_lost(spec_dir: Path) -> None:
    files = sorted((spec_dir / LATEST / "examples").glob("*/*.json"))
    changed: dict[str, object] = {}
    for file in files:
        example = json.loads(file.read_bytes())
        back = through_its_type(file.parent.name, example)
        if json.dumps(without_false_errors(example), sort_keys=True) != json.dumps(back, sort_keys=True):
            changed[f"{file.parent.name}/{file.name}"] = back
    assert {} == changed
    assert len({file.parent.name for file in files}) > 80


def test_requests_inside_input_required_results_are_told_apart_by_their_method(spec_dir: Path) -> None:
    file = next((spec_dir / LATEST / "examples" / "InputRequests").iterdir())
    requests = msgspec.json.decode(file.read_bytes(), type=types.InputRequests)
    assert {"github_login": types.ElicitRequest, "capital_of_france": types.CreateMessageRequest} == {
        key: type(request) for key, request in requests.items()
    }

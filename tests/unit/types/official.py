"""The official schemas, and where each of our structs is described in them.

Newer schemas give most structs a name of their own. Older ones write params inside the request, and all of them write
some parts inside others; `POINTERS` says where to look then, the first place that exists wins.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jsonschema_rs

from suaveplan_mcp import types
from suaveplan_mcp.protocol.revisions import REVISIONS
from suaveplan_mcp.types import WireStruct

Node = dict[str, Any]

_CLIENT = "ClientCapabilities/properties"
_SERVER = "ServerCapabilities/properties"
_COMPLETE = ("CompleteRequestParams/properties", "CompleteRequest/properties/params/properties")

POINTERS: Mapping[type[WireStruct], tuple[str, ...]] = {
    types.RequestParams: ("RequestParams", "Request/properties/params"),
    types.NotificationParams: ("NotificationParams", "Notification/properties/params"),
    types.PaginatedRequestParams: ("PaginatedRequestParams", "PaginatedRequest/properties/params"),
    types.Annotations: ("Annotations", "Annotated/properties/annotations"),
    types.RootsCapability: (f"{_CLIENT}/roots",),
    types.SamplingCapability: (f"{_CLIENT}/sampling",),
    types.ElicitationCapability: (f"{_CLIENT}/elicitation",),
    types.ClientTasksCapability: (f"{_CLIENT}/tasks",),
    types.ClientTasksRequestsCapability: (f"{_CLIENT}/tasks/properties/requests",),
    types.TasksSamplingCapability: (f"{_CLIENT}/tasks/properties/requests/properties/sampling",),
    types.TasksElicitationCapability: (f"{_CLIENT}/tasks/properties/requests/properties/elicitation",),
    types.ToolsCapability: (f"{_SERVER}/tools",),
    types.ResourcesCapability: (f"{_SERVER}/resources",),
    types.PromptsCapability: (f"{_SERVER}/prompts",),
    types.ServerTasksCapability: (f"{_SERVER}/tasks",),
    types.ServerTasksRequestsCapability: (f"{_SERVER}/tasks/properties/requests",),
    types.TasksToolsCapability: (f"{_SERVER}/tasks/properties/requests/properties/tools",),
    types.ResourceTemplateReference: ("ResourceTemplateReference", "ResourceReference"),
    types.CompletionArgument: tuple(f"{place}/argument" for place in _COMPLETE),
    types.CompletionContext: tuple(f"{place}/context" for place in _COMPLETE),
    types.Completion: ("CompleteResult/properties/completion",),
    types.ElicitRequestFormParams: ("ElicitRequestFormParams", "ElicitRequest/properties/params"),
    types.ElicitRequestedSchema: (
        "ElicitRequestFormParams/properties/requestedSchema",
        "ElicitRequest/properties/params/properties/requestedSchema",
    ),
    types.LegacyTitledEnumSchema: ("LegacyTitledEnumSchema", "EnumSchema"),
    types.EnumOption: ("TitledSingleSelectEnumSchema/properties/oneOf/items",),
    types.UntitledEnumItems: ("UntitledMultiSelectEnumSchema/properties/items",),
    types.TitledEnumItems: ("TitledMultiSelectEnumSchema/properties/items",),
    types.UnsupportedProtocolVersionErrorData: (
        "UnsupportedProtocolVersionError/properties/error/allOf/1/properties/data",
    ),
    types.MissingRequiredClientCapabilityErrorData: (
        "MissingRequiredClientCapabilityError/properties/error/allOf/1/properties/data",
    ),
    types.URLElicitationRequiredErrorData: ("URLElicitationRequiredError/properties/error/allOf/1/properties/data",),
}

NOWHERE: frozenset[type[WireStruct]] = frozenset({types.EnumItems, types.ResourceNotFoundErrorData})
"""Structs no schema describes: one joins two descriptions, the other is only in the text of the specification."""


def _candidates(struct: type[WireStruct]) -> Iterator[str]:
    yield from POINTERS.get(struct, (struct.__name__,))
    owner = struct.__name__.removesuffix("Params")
    if owner != struct.__name__:
        yield f"{owner}/properties/params"


@dataclass(frozen=True)
class Place:
    """Where a schema describes a struct: its node, and the pointer to it."""

    pointer: str
    node: Node


@dataclass(frozen=True)
class Members:
    """The members an object may have, and those it must."""

    known: Mapping[str, Node] = field(default_factory=dict[str, Node])
    required: frozenset[str] = frozenset()


class Schema:
    """The official schema of one revision."""

    def __init__(self, revision: str, folder: Path) -> None:
        self.revision = revision
        self.root: Node = json.loads((folder / revision / "schema.json").read_bytes())
        self.key = "$defs" if "$defs" in self.root else "definitions"
        self.definitions: Mapping[str, Node] = self.root[self.key]

    def resolve(self, node: Node) -> Node:
        """Follow references."""
        while "$ref" in node:
            node = self.definitions[node["$ref"].rsplit("/", 1)[1]]
        return node

    def find(self, struct: type[WireStruct]) -> Place | None:
        """Find where a struct is described, if this revision has it."""
        for pointer in _candidates(struct):
            node: Any = self.definitions
            for step in pointer.split("/"):
                node = node[int(step)] if isinstance(node, list) else node.get(step)
                if node is None:
                    break
            else:
                return Place(pointer, self.resolve(node))
        return None

    def members(self, node: Node) -> Members:
        """Collect the members of an object, through references, `allOf` and `anyOf`."""
        node = self.resolve(node)
        known: dict[str, Node] = dict(node.get("properties", {}))
        required = frozenset[str](node.get("required", ()))
        for part in map(self.members, node.get("allOf", ())):
            known.update(part.known)
            required |= part.required
        branches = [self.members(branch) for branch in node.get("anyOf", ())]
        for name in {name for branch in branches for name in branch.known}:
            known[name] = {"anyOf": [branch.known[name] for branch in branches if name in branch.known]}
        if branches:
            required |= frozenset.intersection(*(branch.required for branch in branches))
        return Members(known, required)

    @cached_property
    def _validators(self) -> dict[str, jsonschema_rs.Validator]:
        return {}

    def complain(self, place: Place, value: object) -> list[str]:
        """Say what is wrong with a value by the schema; an empty list means nothing."""
        validator = self._validators.get(place.pointer)
        if validator is None:
            reference = {**self.root, "$ref": f"#/{self.key}/{place.pointer}"}
            if self.key == "definitions":
                # In this draft a reference hides what stands beside it, so it needs a place of its own.
                reference = {**self.root, "allOf": [{"$ref": f"#/{self.key}/{place.pointer}"}]}
            validator = self._validators[place.pointer] = jsonschema_rs.validator_for(reference)
        return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(value)]


@cache
def load(folder: Path) -> tuple[Schema, ...]:
    """Load the schemas of all revisions, oldest first."""
    return tuple(Schema(revision, folder) for revision in REVISIONS)

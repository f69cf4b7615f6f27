"""Suggestions while a user types an argument. Spec: server/utilities/completion"""

from typing import ClassVar, Final, Literal

from suaveplan_mcp.types.base import RequestParams, Result, WireStruct

MAX_VALUES: Final = 100
"""How many values an answer may have. Spec: server/utilities/completion"""


class PromptReference(WireStruct, frozen=True, kw_only=True, tag_field="type", tag="ref/prompt"):
    """Name the prompt whose argument is typed.

    Spec: server/utilities/completion
    """

    type: ClassVar[Literal["ref/prompt"]] = "ref/prompt"
    name: str
    title: str | None = None


class ResourceTemplateReference(WireStruct, frozen=True, kw_only=True, tag_field="type", tag="ref/resource"):
    """Name the resource template whose variable is typed.

    Args:
        uri: the URI or URI template.

    Spec: server/utilities/completion
    """

    type: ClassVar[Literal["ref/resource"]] = "ref/resource"
    uri: str


class CompletionArgument(WireStruct, frozen=True, kw_only=True):
    """Hold the argument that is typed.

    Args:
        value: what is there so far.

    Spec: server/utilities/completion
    """

    name: str
    value: str


class CompletionContext(WireStruct, frozen=True, kw_only=True):
    """Hold what is already settled.

    Args:
        arguments: the other arguments, by name.

    Spec: server/utilities/completion
    """

    arguments: dict[str, str] | None = None


class CompleteRequestParams(RequestParams, frozen=True, kw_only=True):
    """Ask for suggestions.

    Spec: server/utilities/completion
    """

    ref: PromptReference | ResourceTemplateReference
    argument: CompletionArgument
    context: CompletionContext | None = None


class Completion(WireStruct, frozen=True, kw_only=True):
    """Hold suggestions.

    Args:
        values: the best of them, 100 at most.
        total: how many there are.
        has_more: there are more than these.

    Spec: server/utilities/completion
    """

    values: list[str]
    total: int | None = None
    has_more: bool | None = None


class CompleteResult(Result, frozen=True, kw_only=True):
    """Give suggestions.

    Spec: server/utilities/completion
    """

    completion: Completion

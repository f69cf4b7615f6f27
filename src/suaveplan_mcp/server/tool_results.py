"""What a tool returned, as the result that goes to the caller. Spec: server/tools"""

from collections.abc import Sequence
from typing import Any, Final, cast

from msgspec import UNSET, DecodeError, Raw, UnsetType
from msgspec.json import Decoder
from msgspec.structs import replace

from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.server.refusals import InvalidResultError, MismatchError
from suaveplan_mcp.server.signatures.schema import encode_value
from suaveplan_mcp.server.signatures.tool_signature import CONTENT_TYPES, ToolSignature
from suaveplan_mcp.types.content import ContentBlock, TextContent
from suaveplan_mcp.types.tools import CallToolResult

_RESULT_MEMBERS: Final = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
_RESULT: Final = "#/properties/result"
_BINARY: Final[tuple[type[Any], ...]] = (bytes, bytearray, memoryview)
_result_decoder: Final = Decoder(CallToolResult)


def to_result(value: object, signature: ToolSignature) -> CallToolResult:
    """Turn what a tool returned into its result.

    A `CallToolResult` stays as it is, and so does a plain dictionary of its shape. Text becomes one text block, `None`
    no block, content blocks and lists that mix them with other values stay in order. Any other value becomes its JSON,
    once as text and, where the tool promises data or the JSON is an object, as structured content. A return annotation
    that promises data makes every value data, `None` and text too.

    Args:
        value: what the handler returned, awaited.
        signature: the tool's.

    Raises:
        InvalidResultError: the value has no JSON form, or it or its structured content does not fit the output schema.
    """
    if isinstance(value, CallToolResult):
        return _keeping_promises(value, signature)
    if _has_result_shape(value, signature):
        return _keeping_promises(_decode_result(value, signature), signature)
    if signature.output_schema is not None:
        return _data(value, signature)
    if isinstance(value, CONTENT_TYPES):
        return CallToolResult(content=[value])
    items = _items(value)
    if any(isinstance(item, CONTENT_TYPES) for item in items):
        return CallToolResult(content=[_block(item, signature) for item in items])
    if not signature.structured:
        if value is None:
            return CallToolResult(content=[])
        if isinstance(value, str):
            return CallToolResult(content=[TextContent(text=value)])
    return _data(value, signature)


def error_result(error: BaseException) -> CallToolResult:
    """Tell the caller, and so the model, why a tool failed."""
    text = str(error) or type(error).__name__
    # An exception may quote half a surrogate pair, such as the name of a file that is no text; JSON cannot.
    text = text.encode(errors="replace").decode()
    return CallToolResult(content=[TextContent(text=f"Error: {text}")], is_error=True)


def is_wrapped(schema: JsonObject | None, content: JsonValue | Raw | UnsetType = UNSET) -> bool:
    """Tell whether a tool's structured content is wrapped for peers of the handshake era, which know only objects.

    Args:
        schema: the tool's output schema. It decides, not the value, so that what is listed and what is sent agree.
        content: the structured content, which decides where there is no schema.
    """
    if schema is not None:
        return schema.get("type") != "object"
    if isinstance(content, Raw):
        return not bytes(content).lstrip().startswith(b"{")
    return content is not UNSET and not isinstance(content, dict)


def wrap_output_schema(schema: JsonObject) -> JsonObject:
    """Return the schema of `{"result": value}` for the schema of a value; its references resolve from the new root."""
    outer: JsonObject = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    # With an `$id` it is a resource of its own, wherever it stands.
    if "$id" in schema:
        return outer
    inner = cast("JsonObject", _moved(schema))
    definitions = inner.pop("$defs", None)
    outer["properties"] = {"result": inner}
    return outer if definitions is None else {**outer, "$defs": definitions}


def wrap_structured_content(content: JsonValue | Raw) -> Raw:
    """Return `{"result": value}` for a value, which may be JSON already."""
    return Raw(encode_value({"result": content}))


def _moved(schema: JsonValue) -> JsonValue:
    """Copy a schema whose root becomes the property `result`, with its references following; `$defs` stay in place."""
    if isinstance(schema, list):
        return [_moved(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {name: _moved(value) for name, value in schema.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        moved["$ref"] = reference if reference.startswith("#/$defs/") else _RESULT + reference[1:]
    return moved


def _has_result_shape(value: object, signature: ToolSignature) -> bool:
    """Tell whether a plain dictionary is a whole result and not data that looks like one."""
    if type(value) is not dict or not _RESULT_MEMBERS.issuperset(cast("dict[object, object]", value)):
        return False
    members = cast("dict[str, object]", value)
    blocks = members.get("content")
    if not isinstance(blocks, list):
        return False
    # What is promised as data is a result only where it keeps that promise or says that it failed.
    if signature.output_schema is not None and not ("structuredContent" in members or members.get("isError") is True):
        return False
    return all(
        isinstance(block, dict) and isinstance(cast("dict[str, object]", block).get("type"), str)
        for block in cast("list[object]", blocks)
    )


def _keeping_promises(result: CallToolResult, signature: ToolSignature) -> CallToolResult:
    """Return a whole result that a handler made, unless it breaks its output schema; a failure promises nothing."""
    if not result.is_error:
        signature.require_promised(result.structured_content)
    return result


def _decode_result(value: object, signature: ToolSignature) -> CallToolResult:
    try:
        result = _result_decoder.decode(encode_value(value))
    except (MismatchError, DecodeError) as error:
        raise InvalidResultError(signature.shape.label, str(error), cause=error) from error
    if result.structured_content is UNSET:
        return result
    return replace(result, structured_content=Raw(encode_value(result.structured_content)))


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _block(item: object, signature: ToolSignature) -> ContentBlock:
    """Return one item of a mixed list as a content block."""
    if isinstance(item, CONTENT_TYPES):
        return item
    if isinstance(item, str):
        return TextContent(text=item)
    _refuse_binary(item, signature)
    try:
        return TextContent(text=encode_value(item).decode())
    except MismatchError as error:
        raise InvalidResultError(signature.shape.label, str(error), cause=error) from error


def _data(value: object, signature: ToolSignature) -> CallToolResult:
    """Return a value as its JSON: the text and the structured content are the same bytes."""
    if signature.output_schema is None:
        _refuse_binary(value, signature)
    data = signature.encode(value)
    content: list[ContentBlock] = [TextContent(text=data.decode())]
    if signature.structured or data.startswith(b"{"):
        # The sender of the result writes the bytes as they are; a reader in the same process decodes them.
        return CallToolResult(content=content, structured_content=cast("JsonValue", Raw(data)))
    return CallToolResult(content=content)


def _refuse_binary(value: object, signature: ToolSignature) -> None:
    kind = type(value)
    if issubclass(kind, _BINARY):
        problem = f"`{kind.__name__}` has no kind of its own; say with a content block whether it is an image, "
        raise InvalidResultError(signature.shape.label, problem + "sound or a resource")

"""Getting the server's prompts. Spec: server/prompts"""

from typing import Final

from msgspec import DecodeError
from msgspec.json import Decoder

from suaveplan_mcp.client.arguments import Meta, copy_meta, encode_object, refusal, require_text
from suaveplan_mcp.jsonrpc.complaints import explain
from suaveplan_mcp.types.prompts import GetPromptRequestParams

_texts: Final = Decoder(dict[str, str])


def get_params(name: str, args: object, meta: Meta) -> GetPromptRequestParams:
    """Return the params that ask for a prompt; without arguments the empty object is sent.

    Raises:
        MCPError: `INVALID_PARAMS`, naming the argument of the call that is at fault: those of a prompt are strings.
    """
    try:
        arguments = _texts.decode(encode_object("args", args))
    except DecodeError as error:
        path, reason = explain(error)
        raise refusal("args", f"{reason} at {path}") from error
    return GetPromptRequestParams(name=require_text("name", name), arguments=arguments, meta=copy_meta(meta))

"""What a decoder says of a value that does not fit its type, read for code that tells a peer or a person."""

from typing import Final

ROOT: Final = "(root)"
"""The path of a value as a whole."""

# A member that is missing or unknown is the place of its own fault, so that the path alone names it.
_MISSING: Final = "Object missing required field `"
_UNKNOWN: Final = "Object contains unknown field `"


def explain(error: Exception) -> tuple[str, str]:
    """Split a decoder's complaint into where and what.

    Returns:
        The path from the root, such as `arguments.items[0]`, or `ROOT`; and the reason.
    """
    if isinstance(error, RecursionError):
        return ROOT, "it is nested too deeply"
    reason, separator, place = str(error).rpartition(" - at `")
    if not separator:
        reason, place = place, ""
    # "$.a.b[0]`", or "key` in `$.a`" where the name of a member is at fault.
    path = place.removesuffix("`").rpartition("`")[2].removeprefix("$").removeprefix(".")
    for start in (_MISSING, _UNKNOWN):
        if reason.startswith(start):
            name = reason.removeprefix(start).removesuffix("`")
            path = f"{path}.{name}" if path else name
    return path or ROOT, reason

"""Media types as HTTP means them: without regard to case, parameters apart. Spec: RFC 9110, 8.3.1 and 12.5.1"""

import re
from functools import lru_cache
from typing import Final

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"

_WEIGHT: Final = re.compile(r";\s*q\s*=\s*(0(?:\.\d*)?)\s*(?:;|$)", re.IGNORECASE)

# Nearly all requests say the same; few are kept, since a header may be long.
_KEPT: Final = 32


@lru_cache(_KEPT)
def media_type_of(content_type: str) -> str:
    """Return the type that a `Content-Type` header names, in lower case and without parameters."""
    return content_type.partition(";")[0].strip().lower()


@lru_cache(_KEPT)
def is_acceptable(accept: str, media_type: str) -> bool:
    """Tell whether the sender of an `Accept` header takes a media type.

    Args:
        accept: the header; an empty one takes anything.
        media_type: in lower case, without parameters.
    """
    if not accept.strip():
        return True
    ranges = ("*/*", f"{media_type.partition('/')[0]}/*", media_type)
    most_specific = -1
    acceptable = False
    for entry in accept.split(","):
        kind = media_type_of(entry)
        rank = ranges.index(kind) if kind in ranges else -1
        if rank > most_specific:
            most_specific = rank
            weight = _WEIGHT.search(entry)
            acceptable = weight is None or float(weight[1]) > 0
    return acceptable

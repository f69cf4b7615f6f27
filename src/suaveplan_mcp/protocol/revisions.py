"""The revisions of the protocol and their order. Spec: basic/versioning

No other file may contain a date: what depends on a revision names one of these constants.
"""

from typing import Final

V2024_11_05: Final = "2024-11-05"
V2025_03_26: Final = "2025-03-26"
V2025_06_18: Final = "2025-06-18"
V2025_11_25: Final = "2025-11-25"
V2026_07_28: Final = "2026-07-28"

HANDSHAKE_REVISIONS: Final = (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25)
"""The revisions that open a connection with `initialize`, oldest first."""

STATELESS_REVISIONS: Final = (V2026_07_28,)
"""The revisions in which every request stands for itself, oldest first."""

REVISIONS: Final = HANDSHAKE_REVISIONS + STATELESS_REVISIONS
"""All revisions, oldest first."""

LATEST_HANDSHAKE: Final = HANDSHAKE_REVISIONS[-1]
LATEST: Final = REVISIONS[-1]


def is_at_least(revision: str, other: str) -> bool:
    """Tell whether `revision` is `other` or newer.

    Works for revisions this library does not know: they are ISO dates, and those sort as text.
    """
    return revision >= other

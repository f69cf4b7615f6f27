"""The version of this package, as it tells its peers."""

from typing import Final

VERSION: Final = "0.1.0"

"""Text that a recogniser invents: neural ones repeat themselves on noise and foreign speech."""

import zlib
from typing import Final

SHORTEST: Final = 48  # bytes; below it, compression says nothing
HIGHEST_RATIO: Final = 2.4  # of ordinary text it is below 2


def is_loop(text: str) -> bool:
    """Return whether a text mostly repeats itself."""
    data = text.casefold().encode()
    return len(data) >= SHORTEST and len(data) / len(zlib.compress(data)) > HIGHEST_RATIO

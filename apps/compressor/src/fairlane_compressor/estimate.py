"""How much room a job will need, before it starts."""

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairlane_compressor.order import Order
from fairlane_compressor.targets import can_never_be

MARGIN_BYTES: Final = (
    256 * 1024
)  # the smallest file takes whole blocks, and the disk some of its own
_REMEMBERED_SECONDS: Final = 60.0


class Estimates:
    """Estimates of one app; a disk that filled up all the same teaches it better.

    What comes out is smaller than what goes in, or is thrown away: so the size of the source is
    enough, until it was not.
    """

    def __init__(self) -> None:
        self._learnt: dict[Order, int] = {}
        self._walked: dict[Path, tuple[float, int]] = {}

    def needed(self, values: Mapping[str, Any]) -> int:
        order = Order.of(values)
        try:
            if can_never_be(order.place):
                return 0  # to wait for room would be to wait for ever
            size = self.source_bytes(order.path)
        except OSError:
            return 0  # its attempt says what is wrong
        wanted = size if order.target_bytes is None else min(size, order.target_bytes)
        return max(wanted + MARGIN_BYTES, self._learnt.get(order, 0))

    def source_bytes(self, source: Path) -> int:
        status = source.stat()
        if not stat.S_ISDIR(status.st_mode):
            return status.st_size
        now = time.monotonic()
        walked_at, size = self._walked.get(source, (-_REMEMBERED_SECONDS, 0))
        if now - walked_at >= _REMEMBERED_SECONDS:  # it is asked for once a second while blocked
            size = folder_bytes(source)
            self._walked = {source: (now, size)}
        return size

    def learn(self, order: Order, part: Path) -> None:
        """Ask for more next time than was written when the disk was full."""
        written = part.stat().st_size if part.exists() else 0
        known = self._learnt.get(order, 0)
        self._learnt[order] = max(2 * known, 2 * written, 2 * MARGIN_BYTES)

    def forget(self, order: Order) -> None:
        self._learnt.pop(order, None)


def folder_bytes(folder: Path) -> int:
    """Return the size of everything in a folder; links are not followed."""
    size = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118 - it is walked often
            except OSError:
                continue  # gone meanwhile
    return size

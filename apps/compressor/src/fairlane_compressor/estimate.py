"""Estimate the disk space that a job needs, before it starts."""

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairlane_compressor.order import Order
from fairlane_compressor.targets import can_never_be

MARGIN_BYTES: Final = 256 * 1024  # the smallest file takes whole blocks, plus metadata
_REMEMBERED_SECONDS: Final = 60.0


class Estimates:
    """The estimates of one app, raised when a disk filled up in spite of them.

    A result is smaller than its source, or is discarded: so the size of the source is enough, until
    a disk was full once.
    """

    def __init__(self) -> None:
        self._learnt: dict[Order, int] = {}
        self._walked: dict[Path, tuple[float, int]] = {}

    def needed(self, values: Mapping[str, Any]) -> int:
        order = Order.of(values)
        try:
            if can_never_be(order.place):
                return 0  # the folder can never exist: waiting would not help
            size = self.source_bytes(order.path)
        except OSError:
            return 0  # the attempt reports the problem
        wanted = size if order.target_bytes is None else min(size, order.target_bytes)
        return max(wanted + MARGIN_BYTES, self._learnt.get(order, 0))

    def source_bytes(self, source: Path) -> int:
        status = source.stat()
        if not stat.S_ISDIR(status.st_mode):
            return status.st_size
        now = time.monotonic()
        walked_at, size = self._walked.get(source, (-_REMEMBERED_SECONDS, 0))
        if now - walked_at >= _REMEMBERED_SECONDS:  # queried once a second while blocked
            size = folder_bytes(source)
            self._walked = {source: (now, size)}
        return size

    def learn(self, order: Order, part: Path) -> None:
        """Require more next time than was written when the disk was full."""
        written = part.stat().st_size if part.exists() else 0
        known = self._learnt.get(order, 0)
        self._learnt[order] = max(2 * known, 2 * written, 2 * MARGIN_BYTES)

    def forget(self, order: Order) -> None:
        self._learnt.pop(order, None)


def folder_bytes(folder: Path) -> int:
    """Return the size of all files in a folder; links are not followed."""
    size = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118 - it is walked often
            except OSError:
                continue  # deleted meanwhile
    return size

"""The counts of a run, as its row shows them."""

import asyncio
from typing import Any, Final

from fairlane import Context

RATE_SECONDS: Final = 5.0  # the window of the rate
_LONGEST_REASON: Final = 300


class RunCounts:
    def __init__(self, ctx: Context, *, downloaded: int, bytes: int, failed: set[str]) -> None:
        self._ctx = ctx
        self._time = asyncio.get_running_loop().time
        self.downloaded = downloaded
        self.skipped = 0
        self.filtered = 0
        self._failed = failed  # keys of failed files, so that a retried one counts once
        self.bytes = bytes
        self.page = 0
        self.cursor: str | None = None
        self.trouble: str | None = None  # the last reason why a file was not saved
        self._arrivals: list[tuple[float, int]] = []

    def arrived(self, size: int) -> None:
        """Count received bytes for the rate."""
        now = self._time()
        if self._arrivals and now - self._arrivals[-1][0] < 0.1:
            at, earlier = self._arrivals[-1]
            self._arrivals[-1] = (at, earlier + size)
        else:
            self._arrivals.append((now, size))

    def saved(self, key: str, size: int) -> None:
        self._failed.discard(key)
        self.downloaded += 1
        self.bytes += size

    @property
    def failed(self) -> int:
        return len(self._failed)

    def failed_with(self, key: str, name: str, reason: str) -> None:
        self._failed.add(key)
        self.trouble = f"{name}: {reason}"[:_LONGEST_REASON]
        self._ctx.log(f"not saved: {self.trouble}", "warning")

    def go_on_from(self, kept: dict[str, Any]) -> None:
        """Restore the counts that this run stored with its cursor before its process died."""
        if kept.get("run") == self._ctx.job.id:
            self.skipped, self.filtered = kept["skipped"], kept["filtered"]
            self.page = kept["page"]

    def kept(self) -> dict[str, Any]:
        """Return the counts that the index does not have, to be stored with the cursor."""
        return {
            "run": self._ctx.job.id, "skipped": self.skipped, "filtered": self.filtered,
            "page": self.page,
        }  # fmt: skip

    @property
    def rate(self) -> int:
        """Return the recent rate in bytes per second."""
        since = self._time() - RATE_SECONDS
        self._arrivals = [(at, size) for at, size in self._arrivals if at >= since]
        return round(sum(size for _, size in self._arrivals) / RATE_SECONDS)

    def as_dict(self) -> dict[str, Any]:
        told = {
            "downloaded": self.downloaded, "skipped": self.skipped, "filtered": self.filtered,
            "failed": self.failed, "bytes": self.bytes,
        }  # fmt: skip
        return told if self.trouble is None else {**told, "trouble": self.trouble}

    def report(self) -> None:
        self._ctx.report(**self.as_dict(), rate=self.rate, page=self.page, cursor=self.cursor)

"""The bounds of the requests of a child: their number, their time and their bytes.

A server may send a byte a second, a body without an end, or a page that leads to the next page
forever. The time-out of a socket does not notice: it starts again with each byte. So an alarm of
the process interrupts a request, wherever its code waits. The bounds of a page are for the whole
request; those of media are for each block of its body, because a film takes its time.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from types import FrameType
from typing import Final

from msgspec import Struct
from yt_dlp.utils import DownloadCancelled

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.sources.media_bounds import too_large

BLOCK_BYTES: Final = 64 * 1024
PAGE_BYTES: Final = 64 * 2**20  # of all pages of one link
PAGE_REQUESTS: Final = 60
MEDIA_REQUESTS: Final = 100_000  # the pieces of a playlist


class Refused(DownloadCancelled):  # type: ignore[misc]
    """A bound was exceeded. yt-dlp passes errors of this class on, and hides most errors."""

    def __init__(self, error: ChildError) -> None:
        super().__init__(str(error))
        self.error = error


class RequestTimedOut(TimeoutError):
    """A request, or a block of media, took longer than it may."""


class Bounds(Struct, frozen=True, kw_only=True):
    requests: int
    bytes: int
    seconds: float  # of a page, or of a block of media
    of_blocks: bool


def bounds_of_pages(request_seconds: float) -> Bounds:
    return Bounds(
        requests=PAGE_REQUESTS, bytes=PAGE_BYTES, seconds=request_seconds, of_blocks=False
    )


def bounds_of_media(request_seconds: float, largest_bytes: int) -> Bounds:
    # At 30 seconds a request, media must arrive at a kilobyte a second.
    return Bounds(
        requests=MEDIA_REQUESTS, bytes=largest_bytes, seconds=2 * request_seconds, of_blocks=True
    )


class RequestMeter:
    """Counts the requests of this process. Use it in the main thread: alarms arrive there."""

    def __init__(self, bounds: Bounds) -> None:
        # yt-dlp hides some errors: the first refusal, and the error of the newest request.
        self.refusal: ChildError | None = None
        self.last_error: BaseException | None = None
        self.bounds = bounds
        self._requests = 0
        self._bytes = 0
        self._total_seconds = self._ends_at = inf
        self._announced: dict[str, int] = {}
        signal.signal(signal.SIGALRM, _interrupt)

    def restart(self, bounds: Bounds, *, bytes: int = 0) -> None:
        """Count from zero with other bounds; `bytes` are stored from an earlier try."""
        self.bounds, self._requests, self._bytes = bounds, 0, bytes
        self.refusal = self.last_error = None

    def end_within(self, seconds: float) -> None:
        """Refuse to go on after a time: a server may send a kilobyte a second for years."""
        self._total_seconds, self._ends_at = seconds, monotonic() + seconds

    def refuse(self, error: ChildError) -> Refused:
        self.refusal = self.refusal or error
        return Refused(error)

    def begin(self) -> float:
        """Count a request, and return its deadline."""
        self._requests += 1
        if self._requests > self.bounds.requests:
            reason = (
                f"the link leads from page to page, more than {self.bounds.requests} times; "
                "give the link of the page that shows the media"
            )
            raise self.refuse(ChildError("no_media", reason))
        self._check_time()
        self.last_error = None
        return monotonic() + self.bounds.seconds

    @contextmanager
    def timed(self, deadline: float) -> Iterator[None]:
        """Interrupt the block at the deadline of its request."""
        seconds = self.bounds.seconds if self.bounds.of_blocks else deadline - monotonic()
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
        try:
            yield
        except Exception as error:
            self.last_error = error
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def announce(self, address: str, length: int) -> None:
        """Check the length of a body before its first byte."""
        if len(self._announced) < PAGE_REQUESTS:
            self._announced[address] = length
        if self.bounds.of_blocks and self._bytes + length > self.bounds.bytes:
            raise self.refuse(too_large(f"{self._bytes + length:,}", self.bounds.bytes))

    def announced_bytes(self, address: str) -> int | None:
        return self._announced.get(address)

    def count(self, number: int) -> None:
        self._bytes += number
        self._check_time()
        if self._bytes <= self.bounds.bytes:
            return
        if self.bounds.of_blocks:
            raise self.refuse(too_large(f"more than {self.bounds.bytes:,}", self.bounds.bytes))
        reason = f"the pages of the link have more than {self.bounds.bytes:,} bytes"
        raise self.refuse(ChildError("too_large", reason))

    def _check_time(self) -> None:
        if monotonic() > self._ends_at:
            reason = (
                f"the download was not complete after {self._total_seconds / 3600:,.0f} hours; "
                "try again when the server is faster"
            )
            raise self.refuse(ChildError("too_slow", reason))


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise RequestTimedOut("the server was too slow")

"""The pace of requests to each server, by its rate limit headers."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from fairlane import Retryable

_NO_HINT_SECONDS: Final = 30.0  # after a 429 without a duration
_LONGEST_SECONDS: Final = 7 * 86_400.0


class LongPause(Retryable):
    """A server requests a longer pause than a running account waits."""

    def __init__(self, host: str, seconds: float) -> None:
        super().__init__(
            f"{host} asks not to be asked for {seconds:.0f} s",
            code="rate_limited",
            after_seconds=seconds,
        )
        self.seconds = seconds


class RequestPace:
    """The times at which each host may be requested again, for all accounts of a process."""

    def __init__(self, *, longest_wait_seconds: float) -> None:
        self._longest = longest_wait_seconds
        self._free_at: dict[str, float] = {}

    async def wait(self, host: str, on_wait: Callable[[str, float], None]) -> None:
        """Wait until the host may be requested; raise LongPause for a pause that the queue should
        wait."""
        loop = asyncio.get_running_loop()
        while (left := self._free_at.get(host, 0.0) - loop.time()) > 0:
            if left > self._longest:
                raise LongPause(host, left)
            on_wait(host, left)
            await asyncio.sleep(left)

    def note(self, answer: httpx.Response) -> None:
        """Store the pause that a response requests."""
        seconds = requested_wait(answer)
        if seconds > 0:
            free_at = asyncio.get_running_loop().time() + min(seconds, _LONGEST_SECONDS)
            host = answer.request.url.netloc.decode()
            self._free_at[host] = max(free_at, self._free_at.get(host, 0.0))


def requested_wait(answer: httpx.Response) -> float:
    """Return the seconds for which the server requests no further requests."""
    if answer.status_code in (429, 503):
        stated = _retry_after(answer)
        if stated is not None:
            return stated
        if answer.status_code == 429:
            return _until_reset(answer) or _NO_HINT_SECONDS
    if answer.headers.get("X-RateLimit-Remaining", "").strip() == "0":
        return _until_reset(answer) or 0.0
    return 0.0


def _retry_after(answer: httpx.Response) -> float | None:
    text = answer.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - _now(answer)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def _until_reset(answer: httpx.Response) -> float | None:
    """Return the seconds until the reset time of Mastodon, by the server's clock."""
    try:
        reset = datetime.fromisoformat(answer.headers.get("X-RateLimit-Reset", ""))
        return max(0.0, (reset - _now(answer)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def _now(answer: httpx.Response) -> datetime:
    try:
        return parsedate_to_datetime(answer.headers["Date"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return datetime.now(UTC)

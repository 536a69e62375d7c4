"""Job ids that sort by time (UUIDv7). Submitters create them, so sending twice is harmless."""

import hashlib
import os
import re
import time
from collections.abc import Callable
from typing import Final

from fairlane.core.live_job import JobId

# A simulation replaces both, so that its worlds can be repeated.
time_ns: Callable[[], int] = time.time_ns
random_bytes: Callable[[int], bytes] = os.urandom

_UUID7: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

_last_ms = 0
_sequence = 0


def new_id() -> JobId:
    """Return a new id; ids made one after the other in a process sort in that order."""
    global _last_ms, _sequence
    ms = time_ns() // 1_000_000
    if ms <= _last_ms:
        _sequence += 1
        ms = _last_ms
    else:
        _last_ms, _sequence = ms, 0
    carry, counter = divmod(_sequence, 1 << 12)
    bits = int.from_bytes(random_bytes(8), "big")
    return _build(ms + carry, counter, bits)


def reset_time() -> None:
    """Forget the time of the last id, for a clock that shows an earlier time."""
    global _last_ms, _sequence
    _last_ms = _sequence = 0


def firing_id(schedule: str, fire_at: float) -> JobId:
    """Return the id of a firing's job: the same firing twice is the same job."""
    digest = hashlib.sha256(f"{schedule}\n{fire_at!r}".encode()).digest()
    return _build(
        int(fire_at * 1000), digest[8] << 4 | digest[9] >> 4, int.from_bytes(digest[:8], "big")
    )


def keyed_id(key: str, number: int) -> JobId:
    """Return the id of job `number` submitted under an idempotency key (UUIDv8)."""
    text = hashlib.sha256(f"{number}\n{key}".encode()).hexdigest()
    time, place = f"{text[:8]}-{text[8:12]}", text[12:15]
    if _UUID7.match(key):  # jobs of a key that begins with a UUIDv7 sort by its time
        time, place = key[:13], f"{number & 0xFFF:03x}"
    return JobId(f"{time}-8{place}-8{text[15:18]}-{text[18:30]}")


def _build(ms: int, counter: int, bits: int) -> JobId:
    time = f"{ms & (1 << 48) - 1:012x}"
    rest = f"{0b10 << 62 | bits & (1 << 62) - 1:016x}"
    return JobId(f"{time[:8]}-{time[8:]}-7{counter & 0xFFF:03x}-{rest[:4]}-{rest[4:]}")

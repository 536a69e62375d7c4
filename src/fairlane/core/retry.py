"""The retry policy of a job or stage: the number of retries and the waits before them."""

from hashlib import blake2b
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

from fairlane.core.validation import (
    AT_MOST,
    LONGEST_SECONDS,
    is_count,
    is_number,
    is_seconds,
    shown,
)
from fairlane.errors import BadSetting

LARGEST_FACTOR: Final = 1_000_000


class Retry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Try again `times` more, waiting `first_seconds`, then `factor` times longer each time.

    `Retry(times=3, first_seconds=5, factor=3)` waits 5, 15 and 45 seconds; a factor of 1 is a fixed
    wait. `jitter=0.2` makes each wait up to 20 % longer, and never shorter, so that jobs that
    failed together do not come back together. `on` narrows it to errors with one of these codes
    (`timeout`, `5xx`, `busy`, …) or exception names (`ConnectError`); without it every error that
    is classed as retryable counts.
    """

    times: int = 3
    first_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float = 30.0 * 60
    on: tuple[str, ...] = ()
    jitter: float = 0.0

    def __post_init__(self) -> None:
        a_time, most = f"a number, 0 or more, and {AT_MOST}", f"{LARGEST_FACTOR:,}"
        for name, fits, wanted in (
            ("times", is_count(self.times), "a whole number, 0 or more"),
            ("first_seconds", is_seconds(self.first_seconds, zero=True), a_time),
            ("factor", _is_between(1, self.factor), f"a number, 1 or more, and at most {most}"),
            ("cap_seconds", is_seconds(self.cap_seconds, zero=True), a_time),
            ("jitter", _is_between(0, self.jitter), f"a number from 0 to {most}, such as 0.2"),
            ("on", _are_names(self.on), 'a list of names, such as on=["timeout"]'),
        ):
            if not fits:
                got = getattr(self, name)
                raise BadSetting(
                    f"{name} of a Retry is {shown(got)}, which does not make sense; it must be "
                    f"{wanted}"
                )
        force_setattr(self, "on", tuple(self.on))  # a list would be unequal after decoding

    def covers(self, codes: tuple[str, ...], *, retryable: bool) -> bool:
        """Return whether an error with these names is retried."""
        return any(code in self.on for code in codes) if self.on else retryable

    def wait_seconds(self, failures: int, *, least: float = 0.0, key: str | None) -> float:
        """Return the backoff, or `least` if that is longer, with the jitter of a key.

        The jitter is a function of the key and of the failures, because the scheduler decides
        without randomness. Without a key there is none.
        """
        wait = max(self.backoff_seconds(failures), least)
        if key is None or not self.jitter:
            return wait
        wait *= 1 + self.jitter * fraction_of(f"{key}:{failures}")
        return min(wait, LONGEST_SECONDS)

    def backoff_seconds(self, failures: int) -> float:
        """Return the wait after the given number of failures, 1 for the first."""
        try:
            wait = self.first_seconds * self.factor ** (failures - 1)
        except OverflowError:
            return self.cap_seconds
        return min(wait, self.cap_seconds)


def fraction_of(text: str) -> float:
    """Return a number from 0 to below 1 that is the same for the same text and looks random."""
    digest = blake2b(text.encode(errors="replace"), digest_size=6).digest()
    return int.from_bytes(digest) / 2**48


def _is_between(least: float, value: object) -> bool:
    return is_number(value) and least <= value <= LARGEST_FACTOR  # type: ignore[operator]


def _are_names(names: object) -> bool:
    return isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)

"""The retry policy of a job or stage: the number of retries and the waits before them."""

from msgspec import Struct
from msgspec.structs import force_setattr

from fairlane.core.validation import is_count, is_number
from fairlane.errors import BadSetting


class Retry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Try again `times` more, waiting `first_seconds`, then `factor` times longer each time.

    `Retry(times=3, first_seconds=5, factor=3)` waits 5, 15 and 45 seconds; a factor of 1 is a fixed
    wait. `on` narrows it to errors with one of these codes (`timeout`, `busy`, …) or exception
    names (`ConnectError`); without it every error that is classed as retryable counts.
    """

    times: int = 3
    first_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float = 30.0 * 60
    on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, fits, wanted in (
            ("times", is_count(self.times), "a whole number, 0 or more"),
            ("first_seconds", _is_at_least(0, self.first_seconds), "a number, 0 or more"),
            ("factor", _is_at_least(1, self.factor), "a number, 1 or more"),
            ("cap_seconds", _is_at_least(0, self.cap_seconds), "a number, 0 or more"),
            ("on", _are_names(self.on), 'a list of names, such as on=["timeout"]'),
        ):
            if not fits:
                got = getattr(self, name)
                raise BadSetting(
                    f"{name} of a Retry is {got!r}, which does not make sense; it must be {wanted}"
                )
        force_setattr(self, "on", tuple(self.on))  # a list would be unequal after decoding

    def covers(self, codes: tuple[str, ...], *, retryable: bool) -> bool:
        """Return whether an error with these names is retried."""
        return any(code in self.on for code in codes) if self.on else retryable

    def backoff_seconds(self, failures: int) -> float:
        """Return the wait after the given number of failures, 1 for the first."""
        try:
            wait = self.first_seconds * self.factor ** (failures - 1)
        except OverflowError:
            return self.cap_seconds
        return min(wait, self.cap_seconds)


def _is_at_least(least: float, value: object) -> bool:
    return is_number(value) and value >= least  # type: ignore[operator]


def _are_names(names: object) -> bool:
    return isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)

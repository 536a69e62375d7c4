"""How often a failed job or stage is tried again, and after how long."""

from msgspec import Struct

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
        if self.times < 0 or self.first_seconds < 0 or self.factor < 1 or self.cap_seconds < 0:
            raise BadSetting(
                f"{self} does not make sense: times and seconds must not be negative and the "
                "factor must be 1 or more"
            )

    def covers(self, codes: tuple[str, ...], *, retryable: bool) -> bool:
        """Tell whether an error with these names is one to try again."""
        return any(code in self.on for code in codes) if self.on else retryable

    def backoff_seconds(self, failures: int) -> float:
        """Return the wait after the given number of failures, 1 for the first."""
        try:
            wait = self.first_seconds * self.factor ** (failures - 1)
        except OverflowError:
            return self.cap_seconds
        return min(wait, self.cap_seconds)

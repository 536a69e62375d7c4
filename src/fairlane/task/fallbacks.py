"""Fallbacks of a stage: functions to call, or a value to use, after the stage has failed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairlane.errors import UsageError


class Give:
    """A fallback that skips the stage and uses this value as its result."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Fallback:
    """A fallback function with its own resources, limits or time-out.

    Without `uses` it runs with the resources of its stage; with `uses` the stage gives those back
    and waits for these. `limits` are counted when it begins. Without `timeout_seconds` the time-out
    of the stage holds for it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        uses: Mapping[str, int] | None = None,
        limits: Sequence[str] = (),
        timeout_seconds: float | None = None,
    ) -> None:
        if not callable(function):
            raise UsageError(f"a fallback must be a function, got {function!r}")
        self.function = function
        self.uses = uses
        self.limits = limits
        self.timeout_seconds = timeout_seconds


Choice = Callable[..., Any] | Fallback | Give
Fallbacks = Choice | Sequence[Choice] | None


def choices_of(fallback: Fallbacks) -> list[Fallback | Give]:
    """Return the fallbacks of a stage in the order in which they are tried."""
    if fallback is None:
        return []
    given = fallback if isinstance(fallback, Sequence) else [fallback]
    return [one if isinstance(one, Fallback | Give) else Fallback(one) for one in given]

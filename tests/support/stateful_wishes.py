"""The queues, tasks, lanes and keys of a story, and a submission."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from fairlane.core.retry import Retry

PriorityLevel = Literal["high", "normal", "low"]
PRIORITIES: Final[tuple[PriorityLevel, ...]] = ("high", "normal", "low")

# The options of the tasks, by name. `stubborn` ignores cancellation.
TASKS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "patient": {"retry": Retry(times=1, first_seconds=5)},
    "loose": {"retry": Retry(times=2, first_seconds=20), "hold_lane": False},
    "metered": {"limits": ["api"], "retry": Retry(times=1, first_seconds=1)},
    "light": {"uses": {"gpu": 1}},
    "heavy": {"uses": {"gpu": 2}},
    "stubborn": {"recover": 0},
}
QUEUES: Final[dict[str, dict[str, Any]]] = {
    "main": {"max_concurrent": 2, "anti_starvation": False},
    "turns": {"max_concurrent": 2, "anti_starvation": False, "order": "round_robin"},
    "fair": {"max_concurrent": 1, "starvation_picks": 2, "starvation_seconds": 1e6},
}
STARTS, PER_SECONDS, AMOUNT = 2, 60.0, 2
LANES: Final = ("a", "b")
KEYS: Final = ("k", "schedule:by hand")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A submission; `wait_seconds` is the delay until it is due."""

    id: str
    task: str = "plain"
    queue: str = "main"
    lane: str | None = None
    priority: PriorityLevel = "normal"
    dedupe: str | None = None
    wait_seconds: int | None = None
    depends_on: tuple[str, ...] = ()
    run_anyway: bool = False
    kind: Literal["start", "continue"] = "start"
    text: str = "x"

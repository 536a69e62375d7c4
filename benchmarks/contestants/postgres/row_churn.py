"""Repeat the scenarios of the race with Fairlane in one database."""

import asyncio
import time
from collections.abc import Mapping
from statistics import median
from typing import Protocol

from benchmarks import lanes, latency
from benchmarks.start_counter import StartCounter

Rates = dict[str, list[float]]

BEFORE_SECONDS = 30.0
OPEN_SECONDS = 60.0
LOOK_SECONDS = 15.0  # the compared seconds at the end of each phase
SAMPLES = 40
_SPAN = 1_000_000  # the range of numbers of one kind of job
_KINDS = ("drain", "lanes", "hot")
_JOBS = {"drain": 5_000, "lanes": 2_000, "hot": 300}


def lane(number: int) -> str | None:
    """Return the lane of a job by its kind."""
    kind, rest = divmod(number, _SPAN)
    return (None, lanes.spread(rest), lanes.hot(rest))[kind]


class Rows(Protocol):
    """The app under measurement."""

    tally: StartCounter

    async def hand_over(self, numbers: range) -> float: ...

    async def hold(self) -> None: ...

    async def let_go(self) -> None: ...

    async def sample(self, number: int) -> float: ...


async def churn(rows: Rows, seconds: float, *, processes: int) -> Rates:
    """Run for `seconds`; return the rates of each scenario, and the seconds of the pick-ups."""
    found: Rates = {}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for kind in _KINDS if processes == 1 else _KINDS[:1]:
            submitted, drained = await _piece(rows, kind)
            found.setdefault(kind, []).append(drained)
            if kind == "drain":
                found.setdefault("bulk", []).append(submitted)
        if processes == 1:
            found.setdefault("pick_up_ms", []).append(await _pick_up(rows))
    return found


async def _piece(rows: Rows, kind: str) -> tuple[float, float]:
    first, jobs = _SPAN * _KINDS.index(kind), _JOBS[kind]
    await rows.hold()
    submitting_seconds = await rows.hand_over(range(first, first + jobs))
    wanted = rows.tally.count + jobs
    began = time.perf_counter()
    await rows.let_go()
    while rows.tally.count < wanted:  # noqa: ASYNC110
        await asyncio.sleep(0.002)
    return jobs / submitting_seconds, jobs / (time.perf_counter() - began)


async def _pick_up(rows: Rows) -> float:
    samples = []
    for number, pause in enumerate(latency.pauses(SAMPLES)):
        await asyncio.sleep(pause)
        samples.append(await rows.sample(number))
    return 1000 * median(samples)


def figures(before: Rates, during: Rates) -> Mapping[str, float]:
    """Return the median of each scenario, before and during."""
    return {
        f"{name}_{when}": median(values)
        for when, found in (("before", before), ("during", during))
        for name, values in found.items()
    }

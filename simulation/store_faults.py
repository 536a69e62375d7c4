"""Faults at a call to the store, decided before and after each call."""

from random import Random
from typing import Literal, Protocol

from msgspec import Struct

from fairlane.errors import StoreUnavailable

Moment = Literal["before", "after"]


class Fault(Struct, frozen=True):
    """One fault: `kill` ends the process, `error` is raised, `wait` delays the call by seconds."""

    kill: bool = False
    error: Exception | None = None
    wait: float = 0.0


NO_FAULT = Fault()


class StoreFaults(Protocol):
    active: bool  # False while the world settles

    def at(self, process: str, verb: str, moment: Moment) -> Fault: ...


class RandomStoreFaults:
    """Random faults at a rate that the seed decides.

    An error after a commit leaves the caller without knowledge of the stored state.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        storm = random.choice([0.0, 0.002, 0.01, 0.04])
        self._kill = storm * random.random()
        self._error = storm * random.random() * 2
        self._broken = storm * random.random() / 2
        self._wait = random.choice([0.0, 0.02, 0.1])
        self.active = True
        self.counts: dict[str, int] = {}

    def at(self, process: str, verb: str, moment: Moment) -> Fault:
        if not self.active or verb in ("open", "close"):
            return NO_FAULT
        dice = self._random.random()
        if dice < self._kill:
            return self._counted(f"kill {moment} {verb}", Fault(kill=True))
        dice -= self._kill
        if dice < self._error and verb != "resign":
            error = StoreUnavailable(f"the world lets {verb} fail")
            return self._counted(f"error {moment} {verb}", Fault(error=error))
        dice -= self._error
        if dice < self._broken and verb == "commit":
            broken = RuntimeError("the world breaks this batch")
            return self._counted(f"broken {moment} commit", Fault(error=broken))
        dice -= self._broken
        if dice < self._wait:
            return self._counted("slow call", Fault(wait=self._random.expovariate(5)))
        return NO_FAULT

    def _counted(self, name: str, fault: Fault) -> Fault:
        self.counts[name] = self.counts.get(name, 0) + 1
        return fault


class KillAt:
    """Kill the process that makes the n-th call to the store, once."""

    def __init__(self, number: int, moment: Moment) -> None:
        self._number = number
        self._moment = moment
        self._calls = 0
        self.killed_at: str | None = None
        self.active = True

    def at(self, process: str, verb: str, moment: Moment) -> Fault:
        if not self.active or moment != self._moment or self.killed_at is not None:
            return NO_FAULT
        self._calls += 1
        if self._calls < self._number:
            return NO_FAULT
        self.killed_at = f"{moment} {verb} (call {self._number}) of {process}"
        return Fault(kill=True)

"""A hundred worlds; `make simulate SEEDS=5000` runs more."""

import os
from typing import get_args

import pytest

from simulation.__main__ import replay_command
from simulation.databases import StoreKind
from simulation.world import simulate

WORLDS = int(os.environ.get("FAIRLANE_WORLDS", "100"))
_AT_ONCE = 10


@pytest.mark.parametrize("first", range(1, WORLDS + 1, _AT_ONCE))
@pytest.mark.timeout(300)
def test_no_rule_is_violated_in_any_world(first: int) -> None:
    for seed in range(first, first + _AT_ONCE):
        verdict = simulate(seed)
        assert not verdict.violations, f"{verdict.violations}; again: {replay_command(verdict)}"


@pytest.mark.parametrize("store", get_args(StoreKind))
def test_a_seed_always_generates_the_same_world(store: StoreKind) -> None:
    assert simulate(7, store).digest == simulate(7, store).digest


def test_worlds_contain_many_faults_and_checks() -> None:
    verdicts = [simulate(seed) for seed in range(40, 44)]
    troubles = {name for verdict in verdicts for name in verdict.faults}
    checks = {name for verdict in verdicts for name in verdict.checks}
    assert {"kill", "freeze", "close", "slow call", "lost wake-up", "stale outcome"} <= troubles
    assert {
        "one attempt per lane", "max_concurrent", "pauses", "resources", "rates", "order",
        "uniqueness", "refusals", "starvation", "events", "legal changes", "explain", "firings",
        "ends", "nothing is lost", "memory equals a rebuild", "stages", "waiting",
    } <= checks  # fmt: skip

"""Each scenario is killed at every call to the store in turn, and ends as without the kill."""

from itertools import islice

import pytest

from simulation.crash_points import every_crash
from simulation.databases import StoreKind
from simulation.scenarios import SCENARIOS
from simulation.store_faults import Moment

ELSEWHERE = ("one job", "three in a lane", "a rate", "stages", "a standby takes over")


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.timeout(300)
def test_a_kill_at_any_call_violates_no_rule(name: str, moment: Moment) -> None:
    crashes = 0
    for killed_at, verdict in every_crash(SCENARIOS[name], "memory", moment):
        crashes += 1
        assert not verdict.violations, f"killed {killed_at}: {verdict.violations}"
    assert crashes >= 10


@pytest.mark.parametrize("store", ["sqlite", "shared"])
@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.timeout(300)
def test_a_kill_at_any_call_violates_no_rule_on_another_store(name: str, store: StoreKind) -> None:
    for killed_at, verdict in islice(every_crash(SCENARIOS[name], store, "after"), 40):
        assert not verdict.violations, f"killed {killed_at}: {verdict.violations}"

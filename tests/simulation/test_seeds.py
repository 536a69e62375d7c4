"""Worlds that once violated a rule, each with the lesson.

A seed generates another world when the simulator changes, so each lesson is also a separate test in
the layer of the mistake.
"""

import pytest

from simulation.__main__ import replay_command
from simulation.world import simulate

KEPT = {
    9: "A rate limit whose starts were out of order, because the clock had been set back, was "
    "looked at for ever at one instant.",
    28: "A start that was given back and taken again at the same instant counted for nothing "
    "after the next restart.",
    31: "A standby that took over after the clock had been set back took what it had just loaded "
    "for older than it was, and let a rate be exceeded.",
    112: "A standby did not sleep while something lay in its inbox for a leader.",
    1172: "A clock was set back while the leader read from the database: the start that it decided "
    "then was moved back as well and left its rate window.",
    1567: "A worker that was ending took work again when its lease was renewed after all, and let "
    "go of it a moment later: another one ran it beside.",
    2743: "A worker that was frozen past its lease renewed it while the leader counted it dead, "
    "and began what it had been given before: another one ran it beside.",
    3559: "The journal counted a resource for ever that a stage was granted in a process which no "
    "leader had counted as dead, although it was frozen past its lease, and which was killed then.",
    4493: "A standby that had read what is declared before anything was declared it seconds later, "
    "and undid the pause of a schedule.",
}


@pytest.mark.parametrize("seed", KEPT)
@pytest.mark.timeout(120)
def test_worlds_that_once_violated_a_rule_pass(seed: int) -> None:
    verdict = simulate(seed)
    assert not verdict.violations, f"{KEPT[seed]} Again: {replay_command(verdict)}"

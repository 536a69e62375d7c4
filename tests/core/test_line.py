"""A line is a sorted list, however it is cut into blocks."""

import random

import pytest

from fairlane.core import line as line_module
from fairlane.core.line import Line
from fairlane.core.live_job import LiveJob
from tests.support.stores import a_job


@pytest.mark.parametrize("seed", range(20))
def test_a_line_stays_sorted_when_jobs_are_added_and_removed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_module, "MOST", 4)
    chance = random.Random(seed)
    line, standing = Line(), dict[str, LiveJob]()
    for number in range(300):
        if standing and chance.random() < 0.4:
            gone = standing.pop(chance.choice(sorted(standing)))
            line.remove(gone)
        else:
            job = a_job(f"j{number}", place=chance.randrange(50))  # some in the same place
            standing[job.id] = job
            line.add(job)
        first = min(standing.values(), key=lambda job: (job.position, job.id), default=None)
        assert line.first() is first
        assert bool(line) == bool(standing)
    left = []
    while (head := line.first()) is not None:
        line.remove(head)
        left.append(head)
    assert left == sorted(standing.values(), key=lambda job: (job.position, job.id))


def test_the_job_that_arrives_last_stands_last() -> None:
    line = Line()
    jobs = [a_job(f"j{number}", place=number) for number in range(3 * line_module.MOST)]
    for job in jobs:
        line.add(job)
    for job in jobs:
        assert line.first() is job
        line.remove(job)
    assert not line

"""The command line of a contestant: one process runs one scenario and prints its figures as JSON.

Only the standard library is imported here, because the peers have a separate environment.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Figures = Mapping[str, float]
Settings = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One measurement: its workspace, the number of jobs, and the size of the backlog."""

    folder: Path
    database: str  # the address of an empty database, in races on a server
    jobs: int
    queued: int


Scenario = Callable[[Request], Figures | Settings]


def answer(scenarios: Mapping[str, Scenario]) -> None:
    """Run the scenario that the command line names and print its figures as the last line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", choices=list(scenarios))
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--database", default="")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--queued", type=int, default=0)
    found = parser.parse_args()
    request = Request(
        folder=found.folder, database=found.database, jobs=found.jobs, queued=found.queued
    )
    print(json.dumps(scenarios[found.scenario](request)))
    sys.stdout.flush()

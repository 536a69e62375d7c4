"""What an examination of a database finds, and the facts it is found in.

An examination changes nothing, not even the version of the schema, and goes on as far as it can:
it is for databases that nothing else works with.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct, field

Level = Literal["ok", "warning", "problem"]


class Finding(Struct):
    """One line of a diagnosis: what was looked at, how it is, and what to do about it."""

    subject: str
    level: Level
    message: str
    advice: str = ""


class RunningJob(Struct, array_like=True):
    id: str
    task: str
    worker: str | None
    started_at: float | None
    cancel_outputs: str | None


class Condition(Struct, kw_only=True):
    """What the tables say of the present, as far as a diagnosis needs it."""

    leader: str | None
    counts: dict[str, dict[str, int]]
    paused: list[str]
    workers: dict[str, dict[str, Any]]
    running: list[RunningJob]
    waiting_tasks: dict[str, int]  # how many jobs wait, by task
    dead_letters: int
    last_dead_letter: str | None
    inbox: int
    inbox_oldest_at: float | None
    newest_at: float | None  # the time of the newest event
    ended: int
    now: float  # by the database's clock where it has one
    silent: list[str] = field(default_factory=list)  # workers whose lease stood still


def paused_queues(records: dict[str, str]) -> list[str]:
    return sorted(name for name, body in records.items() if msgspec.json.decode(body).get("paused"))

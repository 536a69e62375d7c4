"""The findings of a diagnosis, and the state of a database that they are derived from.

A diagnosis does not change the database, not even the version of the schema. It continues after an
error, because it is for databases that no other command can open.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct, field

Level = Literal["ok", "warning", "problem"]


class Finding(Struct):
    """One line of a diagnosis: the subject, its condition, and advice."""

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
    """The state of the tables that a diagnosis needs."""

    leader: str | None
    counts: dict[str, dict[str, int]]
    paused: list[str]
    workers: dict[str, dict[str, Any]]
    running: list[RunningJob]
    waiting_tasks: dict[str, int]  # the number of waiting jobs, by task
    dead_letters: int
    last_dead_letter: str | None
    inbox: int
    inbox_oldest_at: float | None
    newest_at: float | None  # the time of the newest event
    ended: int
    now: float  # by the clock of the database if it has one
    notices: list[dict[str, Any]] = field(default_factory=list)  # calls of hooks to be repeated
    silent: list[str] = field(default_factory=list)  # workers whose lease was not renewed


def decoded(records: dict[str, str]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(body) for body in records.values()]


def paused_queues(records: dict[str, str]) -> list[str]:
    return sorted(name for name, body in records.items() if msgspec.json.decode(body).get("paused"))

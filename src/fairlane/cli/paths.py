"""Where in the HTTP contract something is, by its name; a name never leads anywhere else."""

import re
from typing import Final
from urllib.parse import quote

from fairlane.cli.exit_codes import Refused
from fairlane.cli.program_name import command

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_STEPS: Final = ("", ".", "..")  # which a path is walked by, however they are quoted


def job_path(id: str, *more: str) -> str:
    if _ID.fullmatch(id) is None or id in _STEPS:
        raise _nowhere("job", id, f"an id is what {command('jobs')} shows first")
    return "/".join(("/api/jobs", id, *more))


def queue_path(name: str, *more: str) -> str:
    return "/".join(("/api/queues", _part("queue", name), *more))


def lanes_path(queue: str, *more: str) -> str:
    return "/".join(("/api/lanes", _part("queue", queue), *more))


def schedule_path(name: str, *more: str) -> str:
    return "/".join(("/api/schedules", _part("schedule", name), *more))


def device_path(name: str) -> str:
    return f"/api/devices/{_part('device', name)}"


def _part(noun: str, name: str) -> str:
    if name in _STEPS or "/" in name or "\0" in name:
        raise _nowhere(noun, name, f"{command(noun + 's')} lists those there are")
    return quote(name, safe="")


def _nowhere(noun: str, name: str, hint: str) -> Refused:
    said = f'"{name}" cannot be a {noun}'
    return Refused({"status": 404, "code": "not_found", "detail": said, "hint": hint})

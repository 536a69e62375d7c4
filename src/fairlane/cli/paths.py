"""URL paths of the HTTP API; a name in a path is escaped, so it never reaches another route."""

import re
from typing import Final
from urllib.parse import quote

from fairlane.cli.exit_codes import ApiProblem
from fairlane.cli.program_name import command_text

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_STEPS: Final = ("", ".", "..")  # URL normalization resolves them, also percent-encoded


def job_path(id: str, *more: str) -> str:
    if _ID.fullmatch(id) is None or id in _STEPS:
        raise _invalid_name("job", id, f"{command_text('jobs')} lists the ids")
    return "/".join(("/api/jobs", id, *more))


def queue_path(name: str, *more: str) -> str:
    return "/".join(("/api/queues", _path_segment("queue", name), *more))


def lanes_path(queue: str, *more: str) -> str:
    return "/".join(("/api/lanes", _path_segment("queue", queue), *more))


def schedule_path(name: str, *more: str) -> str:
    return "/".join(("/api/schedules", _path_segment("schedule", name), *more))


def device_path(name: str) -> str:
    return f"/api/devices/{_path_segment('device', name)}"


def _path_segment(noun: str, name: str) -> str:
    if name in _STEPS or "/" in name or "\0" in name:
        raise _invalid_name(noun, name, f"{command_text(noun + 's')} lists the {noun}s")
    return quote(name, safe="")


def _invalid_name(noun: str, name: str, hint: str) -> ApiProblem:
    detail = f'"{name}" is not a valid {noun} {"id" if noun == "job" else "name"}'
    return ApiProblem({"status": 404, "code": "not_found", "detail": detail, "hint": hint})

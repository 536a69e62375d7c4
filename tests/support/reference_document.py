"""The reference of the Python API, written from its signatures and docstrings.

python -m tests.support.reference_document writes docs/reference.md
"""

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from fairlane import Fairlane, Job
from fairlane.tasks import Task

DOCUMENT: Final = Path(__file__).resolve().parents[2] / "docs" / "reference.md"

OPTIONS: Final = {
    "database": "`sqlite:///work.db`, `postgresql://user@host/name` or `memory://`; without it "
    "`FAIRLANE_DATABASE`, else `sqlite:///fairlane.db`",
    "slots": "the number of jobs that this process runs at a time",
    "stop_grace_seconds": "the time that running jobs have to end when the app stops; jobs that "
    "still run after it return to the front of their queue",
    "recheck_seconds": "the interval at which preconditions of blocked jobs are checked again",
    "clock": "another clock, for tests: `testing.FakeClock`",
    "work": "`False`: this process submits and controls, but runs no jobs",
    "queues": "the queues whose jobs this process runs; all without it",
    "labels": "labels of this process, for tasks with `requires`",
    "keep_history": "the limit of ended jobs: `timedelta(days=30)`, or a number of jobs",
    "uploads": "the folder to which clients of the HTTP API may send files",
    "largest_upload": "the largest size of such a file in bytes",
    "secrets_key": "a Fernet key that encrypts secret parameters in the database, or a list of "
    "keys of which the first encrypts; without it `FAIRLANE_SECRETS_KEY`",
    "site": "an ASGI application that is served at `/`, [beside the API](http.md#a-site-beside-it)",
    "public_paths": "paths of the site that need no token",
}
RULES: Final = {
    "cron": ("", "five fields, or `@daily` and the like, in `timezone`"),
    "every_seconds": ("", "an interval; firings are at whole multiples of it since 1970, UTC"),
    "at": ("", "a single instant"),
    "timezone": ("UTC", "the time zone of `cron`, such as `Europe/Berlin`"),
    "grace_seconds": ("300.0", "a firing that is later than this is stored as skipped"),
    "coalesce": ("True", "one job for several late firings"),
    "overlap": ("skip", "while the previous job is live: `skip`, `queue` or `cancel`"),
}
VARIABLES: Final = {
    "FAIRLANE_DATABASE": "the database of an app without an address, and of the command line",
    "FAIRLANE_URL": "the server that the command line controls",
    "FAIRLANE_TOKEN": "the token of clients that may read and change; for the server and for the "
    "command line",
    "FAIRLANE_READ_TOKEN": "the token of clients that may only read",
    "FAIRLANE_ALLOWED_HOSTS": "further host names of the server, separated by commas",
    "FAIRLANE_HOST": "the address on which `serve` listens; `127.0.0.1` without it",
    "FAIRLANE_PORT": "the port of `serve`; `8420` without it",
    "FAIRLANE_LEADER_DATABASE": "a direct address of PostgreSQL for the leader, if the other goes "
    "through a pooler",
    "FAIRLANE_SECRETS_KEY": "the key that encrypts secret parameters",
}
NOUNS: Final = (
    "jobs", "queues", "lanes", "schedules", "devices", "limits", "events", "workers",
)  # fmt: skip
NOT_PUBLIC: Final = {"terms"}
INTERNAL: Final = {"FAIRLANE_CHILD", "FAIRLANE_CHILD_FD"}  # between a process and its children

HEAD: Final = """\
# Reference of the Python API

`python -m tests.support.reference_document` writes this page from the signatures and docstrings,
and a test compares it with them. The [quickstart](quickstart.md#reference) has the options of
tasks, submissions and queues, and the context of a task. Calls of the nouns are awaited; `app.sync`
has the same calls without `await`.
"""


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    lines = [head, "|---" * (head.count("|") - 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def default(value: Any) -> str:
    if value is None or value == ():
        return ""
    return f"`{value:_}`" if isinstance(value, int) and value > 9999 else f"`{value!r}`"


def methods(kind: type, prefix: str) -> Iterable[tuple[str, str]]:
    for name, function in vars(kind).items():
        if name.startswith("_") or name in NOT_PUBLIC or not inspect.isfunction(function):
            continue
        signature = inspect.signature(function)
        _, *parameters = [
            one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()
        ]
        call = str(inspect.Signature(parameters)).replace("|", "\\|")
        text = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        yield f"`{prefix}{name}{call}`", text


def document() -> str:
    app = Fairlane("memory://")
    signature = inspect.signature(Fairlane)
    parts = [
        HEAD,
        "## `Fairlane(…)`\n",
        table(
            "| option | default | meaning |",
            ((f"`{name}`", default(one.default), OPTIONS[name])
             for name, one in signature.parameters.items()),
        ),
        "## Calls\n",
        table("| call | result |", methods(Fairlane, "app.")),
        *(
            f"### `app.{noun}`\n\n"
            + table("| call | result |", methods(type(getattr(app, noun)), f"app.{noun}."))
            for noun in NOUNS
        ),
        "### A task\n",
        table("| call | result |", methods(Task, "task.")),
        "### A job\n",
        table("| call | result |", methods(Job, "job.")),
        "## Schedules\n",
        "`app.schedule(name, call, …)` in the code; one of the first three is required.\n",
        table(
            "| rule | default | meaning |",
            ((f"`{name}`", f"`{usual}`" if usual else "", text)
             for name, (usual, text) in RULES.items()),
        ),
        "## Environment variables\n",
        table("| variable | meaning |", ((f"`{name}`", text) for name, text in VARIABLES.items())),
    ]  # fmt: skip
    return "\n".join(parts)


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")

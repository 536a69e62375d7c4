"""The archiver as its users see it: served in a separate process, used over HTTP."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
from typer.testing import CliRunner

import fairlane
import fairlane_archiver
from apps.archiver.tests.mastodon_server import MastodonServer
from fairlane_archiver.commands import commands
from tests.support.eventually import eventually_sync
from tests.support.served import Served, serving

PATIENCE_SECONDS: Final = 60.0  # on a machine that is busy with other tests
ENDED: Final = ("completed", "failed", "cancelled", "skipped")
Found = TypeVar("Found")
ROOT: Final = Path(__file__).resolve().parents[3]


def soon(
    probe: Callable[[], Found], *, within_seconds: float = PATIENCE_SECONDS, what: str
) -> Found:
    """Return the first true answer."""
    return eventually_sync(probe, within_seconds=within_seconds, what=what)


def environment(folder: Path, *allowed: str, **settings: object) -> dict[str, str]:
    """Return the environment of the archiver, with short waits for tests."""
    packages = [Path(module.__path__[0]).parent for module in (fairlane, fairlane_archiver)]
    told = {"folder": folder, "allow": ",".join(allowed), "first_wait_seconds": 0.02,
            "stall_seconds": 60, **settings}  # fmt: skip
    known = {f"FAIRLANE_ARCHIVE_{name.upper()}": str(value) for name, value in told.items()}
    return known | {"PYTHONPATH": os.pathsep.join([*map(str, packages), str(ROOT)])}


class Archiver:
    """The rows of a served archiver."""

    def __init__(self, served: Served, folder: Path, client: httpx.Client) -> None:
        self.served = served
        self.folder = folder
        self.client = client

    def ask(self, method: str, path: str, *, status: int = 200, **more: Any) -> Any:
        answer = self.client.request(method, path, **more)
        assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
        return answer.json() if answer.content else None

    def save(self, account: str, *, status: int = 200, **filters: Any) -> Any:
        body = {"task": "archive", "params": {"account": account, **filters}}
        return self.ask("PUT", "/api/lanes/archive", params={"lane": account}, json=body,
                        status=status)  # fmt: skip

    def start(self, account: str, *, status: int = 201, verb: str = "start") -> Any:
        path = f"/api/lanes/archive/{verb}"
        return self.ask("POST", path, params={"lane": account}, status=status)

    def go_on(self, account: str, *, status: int = 201) -> Any:
        return self.start(account, status=status, verb="continue")

    def cancel(self, account: str, *, outputs: str = "keep", status: int = 200) -> Any:
        return self.ask("POST", "/api/lanes/archive/cancel", params={"lane": account},
                        json={"outputs": outputs}, status=status)  # fmt: skip

    def row(self, account: str) -> Any:
        return self.ask("GET", "/api/lanes/archive", params={"lane": account})

    def job(self, id: str) -> Any:
        return self.ask("GET", f"/api/jobs/{id}")

    def ended(self, job: Any, *, within_seconds: float = PATIENCE_SECONDS) -> Any:
        """Return a job once it has ended."""

        def look() -> Any:
            shown = self.job(job["id"])
            return shown if shown["state"] in ENDED else None

        return soon(look, within_seconds=within_seconds, what=f"the end of {job['id']}")

    def done(self, job: Any) -> dict[str, Any]:
        """Return the statistics of a job once it has completed."""
        ended = self.ended(job)
        assert ended["state"] == "completed", ended["error"]
        return dict(ended["statistics"])

    def running(self, job: Any) -> None:
        soon(lambda: self.job(job["id"])["state"] == "running", what="a running job")

    def archived(self, account: str, **filters: Any) -> dict[str, Any]:
        """Save a row, start it and return its counts at the end."""
        self.save(account, **filters)
        return self.done(self.start(account))

    def limit(self, max_concurrent: int | None) -> Any:
        return self.ask("PATCH", "/api/queues/archive", json={"max_concurrent": max_concurrent})

    def events(self, job: Any, *, after: int, until: str) -> list[dict[str, Any]]:
        """Follow a job from an event on, up to the first event that contains the text."""
        seen: list[dict[str, Any]] = []
        with self.client.stream("GET", "/api/events", params={"after": after}) as stream:
            for line in stream.iter_lines():
                event = json.loads(line[5:]) if line.startswith("data:") else {}
                if event.get("job") == job["id"]:
                    seen.append(event)
                    if until in line:
                        return seen
        raise AssertionError("the stream has ended")

    def newest_event(self) -> int:
        return int(self.ask("GET", "/api/state")["seq"])

    def files(self, name: str) -> dict[str, bytes]:
        """Return the files of the account of this name, without their sidecars."""
        found = {}
        for path in sorted(self.folder.glob(f"files/*{name}*/*")):
            if path.suffix not in (".json", ".part"):
                with suppress(FileNotFoundError):  # it is being deleted
                    found[path.name] = path.read_bytes()
        return found

    def parts(self) -> list[Path]:
        return list(self.folder.rglob("*.part"))


@contextmanager
def archiving(
    folder: Path, server: MastodonServer, *allowed: str, **settings: object
) -> Iterator[Archiver]:
    """Serve an archiver that may visit this server, and no other private address."""
    told = environment(folder, server.host, *allowed, **settings)
    program = "fairlane_archiver.program:app"
    with (
        serving(program=program, database="", **told) as served,
        httpx.Client(base_url=served.url, timeout=60) as client,
    ):
        yield Archiver(served, folder, client)


def typed(folder: Path, *words: str, code: int = 0) -> str:
    """Run a command of `fairlane-archive` and return its output."""
    told = CliRunner().invoke(commands(folder), words)
    assert told.exit_code == code, f"{told.exit_code}: {told.output} {told.exception!r}"
    return told.output


def typed_in_a_terminal(folder: Path, *words: str) -> str:
    """Do the same in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "fairlane_archiver", *words, "--folder", str(folder)],
        env={**os.environ, **environment(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout

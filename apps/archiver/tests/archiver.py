"""The archiver as its users meet it: served in a process of its own, talked to over HTTP."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

import fairlane
import fairlane_archiver
from apps.archiver.tests.mastodon_server import MastodonServer
from tests.support.eventually import eventually_sync
from tests.support.served import Served, serving

ENDED: Final = ("completed", "failed", "cancelled", "skipped")
ROOT: Final = Path(__file__).resolve().parents[3]


def environment(folder: Path, *allowed: str, **settings: object) -> dict[str, str]:
    """What the archiver is told from outside; tests wait for nothing longer than they must."""
    packages = [Path(module.__path__[0]).parent for module in (fairlane, fairlane_archiver)]
    told = {"folder": folder, "allow": ",".join(allowed), "first_wait_seconds": 0.02,
            "stall_seconds": 20, **settings}  # fmt: skip
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

    def ended(self, job: Any, *, within_seconds: float = 30.0) -> Any:
        """Return a job once it has ended."""

        def look() -> Any:
            shown = self.job(job["id"])
            return shown if shown["state"] in ENDED else None

        return eventually_sync(look, within_seconds=within_seconds, what=f"the end of {job['id']}")

    def done(self, job: Any) -> dict[str, Any]:
        """Return the statistics of a job once it has completed."""
        ended = self.ended(job)
        assert ended["state"] == "completed", ended["error"]
        return dict(ended["statistics"])

    def running(self, job: Any) -> None:
        eventually_sync(lambda: self.job(job["id"])["state"] == "running", what="a running job")

    def archived(self, account: str, **filters: Any) -> dict[str, Any]:
        """Save a row, start it and return its counts at the end."""
        self.save(account, **filters)
        return self.done(self.start(account))

    def limit(self, max_concurrent: int | None) -> Any:
        return self.ask("PATCH", "/api/queues/archive", json={"max_concurrent": max_concurrent})

    def files(self, name: str) -> dict[str, bytes]:
        """Return the files of the account of this name, without their sidecars."""
        return {
            path.name: path.read_bytes()
            for path in sorted(self.folder.glob(f"files/*{name}*/*"))
            if path.is_file() and path.suffix not in (".json", ".part")
        }

    def parts(self) -> list[Path]:
        return list(self.folder.rglob("*.part*"))


@contextmanager
def archiving(folder: Path, server: MastodonServer, **settings: object) -> Iterator[Archiver]:
    """Serve an archiver that may visit this server and no other private place."""
    told = environment(folder, server.host, **settings)
    program = "fairlane_archiver.program:app"
    with (
        serving(program=program, database="", **told) as served,
        httpx.Client(base_url=served.url, timeout=30) as client,
    ):
        yield Archiver(served, folder, client)


def run_command(
    folder: Path, *arguments: str, check: bool = True, allow: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run `fairlane-archive` as a person would."""
    import sys

    return subprocess.run(
        [sys.executable, "-m", "fairlane_archiver", "--folder", str(folder), *arguments],
        env={**os.environ, **environment(folder, allow)},
        capture_output=True,
        text=True,
        check=check,
        timeout=60,
    )

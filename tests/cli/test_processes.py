"""The command line in real processes: in terminals, with servers, and next to running programs."""

import asyncio
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fairlane import Fairlane
from fairlane.ids import keyed_id
from tests.cli.commands import CommandLine, Server
from tests.support.eventually import eventually, eventually_sync
from tests.support.process_control import environment

TOKEN = "open-sesame"  # noqa: S105
VERBS = [
    "serve", "work", "submit", "jobs", "show", "watch", "log", "cancel", "retry", "rerun", "move",
    "priority", "skip", "explain", "queues", "pause", "resume", "stop-after-current", "limit",
    "lanes", "schedules", "workers", "forecast", "doctor", "migrate", "prune", "backup",
]  # fmt: skip


def test_where_the_queue_is_has_to_be_said_once(tmp_path: Path) -> None:
    nowhere = CommandLine()
    both = ("--url", "http://127.0.0.1:8420", "--database", "sqlite:///x.db")
    assert "use only one of --url and --database" in nowhere("jobs", *both, code=2).err
    known = CommandLine(FAIRLANE_URL="http://127.0.0.1:9", FAIRLANE_DATABASE="sqlite:///x.db")
    assert "both set" in known("jobs", code=2).err
    # Options take precedence over environment variables.
    missing = f"sqlite:///{tmp_path}/x.db"
    assert "there is no database" in known("jobs", "--database", missing, code=5).err
    assert not (tmp_path / "x.db").exists()
    assert "not the URL" in nowhere("jobs", "--url", "localhost:8420", code=2).err
    assert (
        "exists only inside its program" in nowhere("jobs", "--database", "memory://", code=2).err
    )


def test_the_usual_file_counts_where_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no queue is given" in CommandLine()("jobs", code=2).err
    CommandLine()("migrate", "--database", "sqlite:///fairlane.db")
    assert "no jobs" in CommandLine()("jobs").out


def test_a_server_that_does_not_answer_is_unavailable() -> None:
    said = CommandLine().apart("jobs", "--url", "http://127.0.0.1:9", code=5)
    assert said.err.startswith("fairlane: no server answers at http://127.0.0.1:9")
    assert len(said.err.splitlines()) == 1


def test_a_token_is_asked_for_and_taken(tmp_path: Path) -> None:
    server = Server(tmp_path, "--token", TOKEN)
    try:
        fairlane = CommandLine(FAIRLANE_URL=server.url)
        assert "--token" in fairlane("jobs", code=2).err
        assert "--token" in fairlane("jobs", "--token", "wrong", code=2).err
        fairlane("jobs", "--token", TOKEN)
        CommandLine(FAIRLANE_URL=server.url, FAIRLANE_TOKEN=TOKEN)("jobs")
    finally:
        server.end()


async def test_what_is_done_while_nobody_leads_is_there_when_the_program_starts(
    tmp_path: Path,
) -> None:
    """The command line leads for one change, runs no jobs, and resigns."""
    app = Fairlane(f"sqlite:///{tmp_path}/work.db")
    app.queue("mail", max_concurrent=1)
    ran: list[str] = []

    @app.task(queue="mail", lane="{to}")
    async def send(to: str) -> None:
        ran.append(to)

    async with app:
        pass
    fairlane = CommandLine(FAIRLANE_DATABASE=f"sqlite:///{tmp_path}/work.db")
    first = await asyncio.to_thread(fairlane.apart, "submit", "send", "to=ann")
    second = await asyncio.to_thread(fairlane.apart, "submit", "send", "to=ben")
    await asyncio.to_thread(fairlane, "move", second.out.strip(), "head")
    await asyncio.to_thread(fairlane, "limit", "mail", "5")
    assert ran == []
    async with app:
        view = await app.jobs.show(first.out.strip())
        assert view.lane == "ann"
        await app.drain()
        assert (await app.queues.list())["mail"].settings.max_concurrent == 5
    assert ran == ["ben", "ann"]


async def test_somebody_who_watches_keeps_nobody_from_leading(tmp_path: Path) -> None:
    """On SQLite only the leader can run jobs: a watch that led would stop the program."""
    app = Fairlane(f"sqlite:///{tmp_path}/work.db")

    @app.task
    async def work() -> str:
        return "done"

    async with app:
        pass
    fairlane = CommandLine(FAIRLANE_DATABASE=f"sqlite:///{tmp_path}/work.db")
    submitted = await asyncio.to_thread(fairlane, "submit", "work")
    job = submitted.out.strip()
    watching = await fairlane.begin("watch", job)
    assert watching.stdout is not None
    async with asyncio.timeout(30):
        assert (await watching.stdout.readline()).decode().startswith("queued")
        async with app:
            assert (await app.jobs.wait(job)).state == "completed"
            out, _ = await watching.communicate()
    assert watching.returncode == 0
    assert "completed" in out.decode()


async def test_a_watch_goes_on_after_its_server_came_back(tmp_path: Path) -> None:
    server = Server(tmp_path)
    fairlane = CommandLine(FAIRLANE_URL=server.url)
    gate = server.gate("gate")
    job = (await asyncio.to_thread(fairlane, "submit", "gated", f"gate={gate}")).out.strip()
    watching = await fairlane.begin("watch", job)
    assert watching.stdout is not None
    async with asyncio.timeout(50):
        await watching.stdout.readline()
        server.kill()
        port = server.url.rpartition(":")[2]
        again = await asyncio.to_thread(Server, tmp_path, "--port", port)
        server.open("gate")
        out, _ = await watching.communicate()
    assert watching.returncode == 0
    assert "through" in out.decode()
    again.end()


async def test_events_are_lines_of_json(server: Server) -> None:
    fairlane = CommandLine(FAIRLANE_URL=server.url)
    watching = await fairlane.begin("watch", "--queue", "mail", "--json")
    assert watching.stdout is not None

    async def heard() -> bool:
        """Submit until the watch hears of it: it takes a moment to listen."""
        await asyncio.to_thread(fairlane, "submit", "send", "to=ann")
        assert watching.stdout is not None
        try:
            async with asyncio.timeout(0.5):
                return b'"queue":"mail"' in await watching.stdout.readline()
        except TimeoutError:
            return False

    await eventually(heard)
    watching.send_signal(signal.SIGINT)
    async with asyncio.timeout(20):
        await watching.communicate()
    assert watching.returncode == 130


async def test_events_go_on_after_their_server_came_back(tmp_path: Path) -> None:
    """Each line is printed once, also lines logged while no server ran."""
    server = Server(tmp_path)
    fairlane = CommandLine(FAIRLANE_URL=server.url)
    watching = await fairlane.begin("watch", "--queue", "mail", "--json")
    assert watching.stdout is not None
    heard: list[dict[str, Any]] = []

    async def hear(job: str) -> None:
        assert watching.stdout is not None
        while not any(event["job"] == job for event in heard):
            heard.append(json.loads(await watching.stdout.readline()))

    async def submitted() -> str:
        said = await asyncio.to_thread(fairlane, "submit", "send", "to=ann")
        return said.out.strip()

    async def is_heard() -> bool:
        """Submit until the watch hears of it: it takes a moment to listen."""
        job = await submitted()  # to its end: two at once would take each other's output
        try:
            async with asyncio.timeout(1):
                await hear(job)
        except TimeoutError:
            return False
        return True

    await eventually(is_heard)
    async with asyncio.timeout(50):
        server.kill()
        port = server.url.rpartition(":")[2]
        again = await asyncio.to_thread(Server, tmp_path, "--port", port)
        await hear(await submitted())
    numbers = [event["seq"] for event in heard if event["type"] != "resync"]
    assert numbers == sorted(set(numbers))
    watching.send_signal(signal.SIGINT)
    async with asyncio.timeout(20):
        await watching.communicate()
    assert watching.returncode == 130
    again.end()


@pytest.mark.parametrize("way", ["url", "database"])
async def test_a_log_is_followed_beyond_what_is_shown_at_first(server: Server, way: str) -> None:
    place = {"url": server.url, "database": server.database}[way]
    fairlane = CommandLine(**{f"FAIRLANE_{way.upper()}": place})
    gate = f"talk-{way}"
    said = await asyncio.to_thread(
        fairlane, "submit", "talkative", f"gate={server.gate(gate)}", "lines=40"
    )
    job = said.out.strip()

    async def is_logged() -> bool:
        log = await asyncio.to_thread(fairlane.json, "log", job)
        return len(log["items"]) == 40

    await eventually(is_logged)
    following = await fairlane.begin("log", job, "--follow", "--limit", "5", "--json")
    assert following.stdout is not None
    async with asyncio.timeout(50):
        first = await following.stdout.readline()
        server.open(gate)
        out, _ = await following.communicate()
    told = [json.loads(line)["message"] for line in (first + out).splitlines()]
    assert told == [f"line {number}" for number in range(35, 80)]
    assert following.returncode == 0
    ended = await asyncio.to_thread(fairlane, "log", job, "--follow", "--limit", "2")
    assert [line.split()[-1] for line in ended.lines] == ["78", "79"]


def test_a_job_that_nobody_decides_on_is_named(tmp_path: Path) -> None:
    """Without the id, a user would submit the job again."""
    server = Server(tmp_path)
    fairlane = CommandLine(FAIRLANE_DATABASE=server.database)
    server.freeze()
    try:
        said = fairlane.apart("submit", "send", "to=ann", code=5)
        job = said.out.strip()
        assert f"do not submit it again: `fairlane show {job}` shows its state" in said.err
        assert len(said.err.splitlines()) == 1
    finally:
        server.thaw()
    eventually_sync(lambda: fairlane.json("show", job)["state"] == "completed")
    assert len(fairlane.json("jobs", "--task", "send")["items"]) == 1
    server.end()


class Silent(BaseHTTPRequestHandler):
    """A server that closes the connection after it has received the request."""

    keys: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        body = b'{"items": []}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.keys.append(self.headers["Idempotency-Key"])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None: ...


def test_a_submission_without_an_answer_says_what_to_look_for() -> None:
    with HTTPServer(("127.0.0.1", 0), Silent) as silent:
        serving = threading.Thread(target=silent.serve_forever)
        serving.start()
        try:
            fairlane = CommandLine(FAIRLANE_URL=f"http://127.0.0.1:{silent.server_port}")
            told = [fairlane("submit", "send", "to=ann", code=5).err for _ in "ab"]
            told.append(fairlane("submit", "send", "--file", "-", code=5, stdin='{"to": "x"}').err)
        finally:
            silent.shutdown()
            serving.join()
    assert len(set(Silent.keys)) == 3
    for key, said in zip(Silent.keys, told, strict=True):
        assert f"`fairlane show {keyed_id(key, 0)}`" in said


def in_terminal(*words: str, columns: int, **settings: str) -> tuple[int, str]:
    """Run a command in a terminal of this width; return its exit code and output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    plain = {k: v for k, v in environment(**settings).items() if k not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "fairlane", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, env={"TERM": "xterm", **plain, **settings},
    )  # fmt: skip
    os.close(theirs)
    drawn = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break  # the other end is closed: it has ended
        if not piece:
            break
        drawn += piece
    os.close(ours)
    return process.wait(30), drawn.decode(errors="replace")


@pytest.mark.parametrize("colour", [True, False])
def test_progress_is_drawn_in_a_terminal(server: Server, colour: bool) -> None:
    settings = {"FAIRLANE_URL": server.url, "TERM": "xterm-256color"}
    if not colour:
        settings["NO_COLOR"] = "1"
    code, drawn = in_terminal(
        "submit", "archive", f"handle=drawn-{colour}", "items=3", "--wait", columns=80, **settings
    )
    assert code == 0
    assert "archive completed" in drawn.replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert ("\x1b[32m" in drawn) == colour
    assert "saving" in drawn
    assert "━" in drawn


def test_a_table_fits_a_narrow_terminal(server: Server) -> None:
    fairlane = CommandLine(FAIRLANE_URL=server.url)
    fairlane("submit", "archive", f"handle={'long' * 20}", "--wait")
    code, drawn = in_terminal(
        "jobs", columns=80, FAIRLANE_URL=server.url, TERM="xterm", NO_COLOR="1"
    )
    assert code == 0
    lines = [line.rstrip("\r") for line in re.sub(r"\x1b\[[0-9;]*m", "", drawn).split("\n")]
    assert max(map(len, lines)) <= 80
    assert all(len(line.split()[0]) == 36 for line in lines[1:] if line.strip())


def test_completion_knows_the_verbs() -> None:
    completed = subprocess.run(
        [sys.executable, "-m", "fairlane"],
        env=environment(
            _FAIRLANE_COMPLETE="complete_bash", COMP_WORDS="fairlane stop", COMP_CWORD="1"
        ),
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert "stop-after-current" in completed.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    assert "Usage" in CommandLine()(verb, "--help").out


async def test_on_postgres_a_visit_steers_whoever_leads(postgres_dsn: str) -> None:
    app = Fairlane(postgres_dsn)

    @app.task(lane="{name}")
    async def work(name: str) -> str:
        return name

    fairlane = CommandLine(FAIRLANE_DATABASE=postgres_dsn)
    async with app:
        waited = await asyncio.to_thread(fairlane, "submit", "work", "name=x", "--wait")
        assert "x" in waited.lines
        await asyncio.to_thread(fairlane, "pause", "default")
        assert (await app.queues.list())["default"].paused == "paused"
    # It also works without a running program.
    left = await asyncio.to_thread(fairlane, "submit", "work", "name=y")
    await asyncio.to_thread(fairlane, "resume", "default")
    async with app:
        assert (await app.jobs.wait(left.out.strip())).result == "y"

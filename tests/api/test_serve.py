"""`fairlane serve`, as a real process on loopback."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.eventually import eventually_sync
from tests.support.served import PROGRAM, ROOT, serving
from tests.support.talking import said

HELLO = {"task": "hello", "params": {"name": "ann"}}


def serve(*options: str, program: str = PROGRAM, **environment: str) -> Any:
    """Run a server that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "fairlane", "serve", program, *options],
        cwd=ROOT,
        env={**os.environ, "FAIRLANE_DATABASE": "memory://", **environment},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def has_ended(url: str, job: str) -> Any:
    shown = httpx.get(f"{url}/api/jobs/{job}").json()
    return shown if shown["ended_at"] else None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_serves_until_a_signal_and_ends_cleanly(tmp_path: Path, number: int) -> None:
    database = f"sqlite:///{tmp_path}/work.db"
    with serving(database=database) as server:
        job = said(httpx.post(f"{server.url}/api/jobs", json=HELLO), 201)["id"]
        ended = eventually_sync(lambda: has_ended(server.url, job))
        assert ended["result"] == "hello ann"
        with httpx.stream("GET", f"{server.url}/api/events") as stream:
            assert next(stream.iter_lines())  # an open stream does not hold it up
            assert server.stop(number) == 0
    with serving(database=database) as server:
        assert said(httpx.get(f"{server.url}/api/jobs/{job}"), 200)["state"] == "completed"


def test_what_runs_is_handed_back_when_it_is_told_to_hurry(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/work.db"
    body = {"task": "archive", "params": {"handle": "a", "seconds": 600}}
    with serving(database=database) as server:
        job = said(httpx.post(f"{server.url}/api/jobs", json=body), 201)["id"]
        server.process.send_signal(signal.SIGTERM)
        assert server.process.stdout is not None
        assert "stopping" in server.process.stdout.readline()
        assert server.stop() == 0
    with serving(database=database) as server:
        shown = said(httpx.get(f"{server.url}/api/jobs/{job}"), 200)
        assert (shown["crashes"], shown["ended_at"]) == (0, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])  # noqa: S104
def test_an_address_that_others_can_reach_needs_a_token(host: str) -> None:
    ended = serve("--host", host)
    assert ended.returncode == 2
    assert "a token is required; set FAIRLANE_TOKEN" in ended.stderr


def test_with_a_token_every_address_may_be_listened_on() -> None:
    with serving("--host", "0.0.0.0", FAIRLANE_TOKEN="a-long-token-1") as server:  # noqa: S104, S106
        url = server.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        said(httpx.get(f"{url}/api/jobs"), 401)
        headers = {"Authorization": "Bearer a-long-token-1"}
        said(httpx.get(f"{url}/api/jobs", headers=headers), 200)


def test_a_port_that_is_taken_is_told_as_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = serve("--port", str(taken.getsockname()[1]))
    assert ended.returncode == 5
    assert "cannot listen on 127.0.0.1" in ended.stderr
    assert "choose another port with --port, or 0 for a free one" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_missing_extra_is_reported_before_a_port_that_is_taken() -> None:
    without = "import sys; sys.modules['fastapi'] = None; from fairlane.cli import main; main()"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [
                sys.executable,
                "-c",
                without,
                "serve",
                PROGRAM,
                "--port",
                str(taken.getsockname()[1]),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 2
    assert 'pip install "fairlane[server]"' in ended.stderr


def test_a_database_that_cannot_be_opened_is_told_as_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    path.write_text("this is no database" * 100)
    ended = serve("--port", "0", FAIRLANE_DATABASE=f"sqlite:///{path}")
    assert ended.returncode == 5
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("options", "program"),
    [(["--token", "short"], PROGRAM), ([], "tests.support.http_program:nothing"),
     (["--port", "70000"], PROGRAM), ([], "no_such_module:app")],
)  # fmt: skip
def test_a_wrong_call_is_told_as_usage(options: list[str], program: str) -> None:
    ended = serve("--port", "0", *options, program=program)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


def test_a_token_is_in_nothing_that_the_server_says() -> None:
    token = "-".join(["quite", "secret"])
    with serving(FAIRLANE_TOKEN=token) as server:
        for sent in (token, token + "x"):
            httpx.get(f"{server.url}/api/jobs", headers={"Authorization": f"Bearer {sent}"})
            httpx.post(f"{server.url}/api/session", json={"token": sent})
        server.process.send_signal(signal.SIGTERM)
        said_last, _ = server.process.communicate(timeout=20)
    assert token not in said_last


@pytest.mark.timeout(120)
def test_while_the_leader_does_not_answer_a_submission_is_kept_and_decided_later(
    tmp_path: Path,
) -> None:
    """Any process can answer a request; changes go to the leader through its inbox."""
    database = f"sqlite:///{tmp_path}/work.db"
    with serving(database=database) as leader, serving(database=database) as standby:
        jobs = f"{standby.url}/api/jobs"
        first = said(httpx.post(jobs, json=HELLO), 201)["id"]
        eventually_sync(lambda: has_ended(leader.url, first))
        leader.process.send_signal(signal.SIGSTOP)
        try:
            headers = {"Idempotency-Key": "once"}
            answer = httpx.post(jobs, json=HELLO, headers=headers, timeout=30)
            kept = said(answer, 202)
            assert (kept["code"], kept["id"]) == ("undecided", answer.headers["location"][10:])
            shown = said(httpx.get(standby.url + answer.headers["location"]), 200)
            assert (shown["id"], shown["state"]) == (kept["id"], "created")
            answer = httpx.post(f"{standby.url}/api/queues/archive/pause", timeout=30)
            assert said(answer, 202)["id"] is None
            answer = httpx.get(f"{jobs}/{first}/explain", timeout=30)
            assert said(answer, 503)["code"] == "undecided"
            assert answer.headers["retry-after"] == "1"
        finally:
            leader.process.send_signal(signal.SIGCONT)
        eventually_sync(lambda: has_ended(standby.url, kept["id"]))
        again = said(httpx.post(jobs, json=HELLO, headers=headers, timeout=30), 201)
        assert again["id"] == kept["id"]
        assert said(httpx.get(f"{leader.url}/api/queues/archive"), 200)["paused"] == "paused"
        refused = httpx.post(jobs, json={**HELLO, "priority": "low"}, headers=headers, timeout=30)
        assert said(refused, 409)["code"] == "key_reused"

"""Log lines as JSON and as text: with the fields of their attempt and without its secrets."""

import asyncio
import io
import json
import logging
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from pydantic import SecretStr

from fairlane import Context, Fairlane, JobFailed, logs
from fairlane.testing import FakeClock, running
from tests.support.apps import Doors
from tests.support.process_control import environment

HIDDEN = "open sesame"

library = logging.getLogger("library.inside")


@pytest.fixture
def app() -> Fairlane:
    return Fairlane("memory://", clock=FakeClock(), stop_grace_seconds=0)


class Lines:
    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def saying(self, message: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.text.splitlines()]
        return [line for line in lines if message in line["message"]]

    def one(self, message: str) -> dict[str, Any]:
        [line] = self.saying(message)
        return line


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Configure logging for the duration of a test, and restore it afterwards."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    lines = Lines()
    logs.configure(json=True, stream=lines.stream)
    yield lines
    root.handlers[:] = handlers
    root.setLevel(level)
    logs._handler = logs._configuration = None


def about(line: dict[str, Any]) -> list[Any]:
    return [line.get(name) for name in ("job", "task", "queue", "lane", "attempt")]


async def test_every_log_line_of_an_attempt_has_the_fields_of_the_attempt(
    app: Fairlane, lines: Lines
) -> None:
    app.queue("mail")

    def deeper(number: int) -> None:
        library.info("thread %d", number)

    @app.task(queue="mail", lane="{number}")
    async def on_the_loop(ctx: Context, number: int) -> None:
        library.info("loop %d", number)
        await asyncio.create_task(asyncio.to_thread(deeper, number))
        await ctx.stage("more").run(library.info, "stage %d", number)

    @app.task
    def in_a_thread() -> None:
        library.warning("plain")

    async with running(app):
        library.info("outside")
        jobs = [await on_the_loop.submit(number) for number in (1, 2)]
        plain = await in_a_thread.submit()
        for job in (*jobs, plain):
            await job.wait()

    for where in ("loop", "thread", "stage"):
        for number, job in enumerate(jobs, start=1):
            line = lines.one(f"{where} {number}")
            assert about(line) == [job.id, "on_the_loop", "mail", str(number), 1]
            assert (line["logger"], line["level"]) == ("library.inside", "info")
            assert line["at"].endswith("Z")
    assert about(lines.one("plain")) == [plain.id, "in_a_thread", "default", None, 1]
    assert "job" not in lines.one("outside")


async def test_the_engines_log_line_about_a_failed_job_has_the_fields_of_the_job(
    app: Fairlane, lines: Lines
) -> None:
    @app.task(lane="x")
    async def work() -> None:
        raise ValueError("no")

    async with running(app):
        job = await work.submit()
        with pytest.raises(JobFailed):
            await job.wait()

    line = lines.one("failed in attempt 1: no")
    assert line["logger"] == "fairlane.engine"
    assert about(line) == [job.id, "work", "default", "x", 1]


async def test_a_secret_is_in_no_log_line_and_in_no_error_of_its_attempt(
    app: Fairlane, lines: Lines
) -> None:
    own = logging.StreamHandler(seen := io.StringIO())  # a handler with its own format
    own.addFilter(logs.AttemptFilter())
    logging.getLogger().addHandler(own)

    @app.task
    async def work(ctx: Context, token: SecretStr, pin: SecretStr) -> None:
        plain = token.get_secret_value()
        library.info("signing in with %s", plain, extra={"address": f"http://site/?t={plain}"})
        library.info("quoted: %s", [plain])
        ctx.log(f"I have {plain}")
        ctx.progress(10, f"with {plain}")
        ctx.stage("saving").progress(10, f"at http://site/?t={quote(plain)}")
        ctx.report(address=f"http://site/?t={quote_plus(plain)}")
        try:
            raise ValueError(f"cannot use {plain}")
        except ValueError:
            library.exception("it went wrong")
            raise

    async with running(app):
        job = await work.submit(SecretStr(HIDDEN + "\n'"), SecretStr("12"))
        with pytest.raises(JobFailed):
            await job.wait()
        shown, kept = await job.show(), await job.log()

    assert lines.one("signing in")["address"] == "http://site/?t=**********"
    assert "cannot use **********" in lines.one("it went wrong")["error"]
    assert "cannot use **********" in seen.getvalue()
    assert shown.error is not None
    assert shown.error.message == "cannot use **********"
    assert [line.message for line in kept] == ["I have **********"]
    assert (shown.progress.message, shown.statistics["address"]) == (
        "with **********", "http://site/?t=**********",
    )  # fmt: skip
    assert shown.stages[0].message == "at http://site/?t=**********"
    assert HIDDEN not in lines.text + seen.getvalue() + repr(shown) + repr(kept)
    assert '"attempt": 1' in lines.text  # a secret as short as the pin is not redacted


def test_control_characters_in_a_log_message_are_escaped() -> None:
    record = logging.makeLogRecord(
        {"name": "a", "msg": "it said: \x1b[2J\r\nfairlane: all is well"}
    )
    text = logs.TextFormatter().format(record)
    assert text.endswith("a: it said: \\x1b[2J\\r\\nfairlane: all is well")


def test_a_json_log_line_is_one_object_for_any_values() -> None:
    odd = {
        "path": Path("/a"), "ratio": float("nan"), "seconds": 2.5, "job": "mine",
        "text": "\udc80 ä",
    }  # fmt: skip
    try:
        raise ValueError("two\nlines")
    except ValueError:
        raised = sys.exc_info()
    record = logging.makeLogRecord(
        {"msg": "several\nlines \udc80", "exc_info": raised, "stack_info": "Stack", **odd}
    )  # not logged: xdist can send only encodable text that pytest captured
    logs.AttemptFilter().filter(record)

    text = logs.JsonFormatter().format(record)
    assert "\n" not in text
    line = json.loads(text.encode("ascii"))
    assert line["message"] == "several\nlines \udc80"
    assert line["error"].endswith("ValueError: two\nlines")
    assert line["stack"] == "Stack"
    assert (line["path"], line["ratio"], line["text"]) == ("/a", "nan", "\udc80 ä")
    assert line["seconds"] == 2.5
    assert line["job"] == "mine"  # outside of attempts the field of the caller stays


async def test_a_text_log_line_ends_with_the_fields_of_the_attempt(
    app: Fairlane, lines: Lines, doors: Doors
) -> None:
    logs.configure(stream=lines.stream)  # replaces the configuration of the fixture

    @app.task(lane="{to}")
    async def send(to: str) -> None:
        library.info("sending")

    async with running(app):
        library.info("outside")
        job = await send.submit("ann")
        await job.wait()

    sending, outside = (
        next(line for line in lines.text.splitlines() if f": {word}" in line)
        for word in ("sending", "outside")
    )
    fields = f"job={job.id} task=send queue=default lane=ann attempt=1"
    assert sending.endswith(f" library.inside: sending [{fields}]")
    assert outside.endswith(" library.inside: outside")


PROGRAM = """
from pydantic import SecretStr
from fairlane import Fairlane
from tests.support.logged import logs_in_child

app = Fairlane()
child = app.task(isolation="process", lane="{name}")(logs_in_child)
app.schedule("now", child.call("ann", SecretStr("open sesame")), every_seconds=3600)
"""


@pytest.mark.parametrize("verb", ["work", "serve"])
async def test_the_command_line_writes_json_also_from_child_processes(
    verb: str, tmp_path: Path
) -> None:
    (tmp_path / "tasks.py").write_text(PROGRAM)
    database = f"sqlite:///{tmp_path}/work.db"
    more = ["--port", "0"] if verb == "serve" else []
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fairlane", verb, "tasks:app", "--log-json", *more, cwd=tmp_path,
        stdout=PIPE, stderr=PIPE, env=environment(FAIRLANE_DATABASE=database),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(40):
        await process.stdout.readline()
        async with Fairlane(database, work=False) as app:
            job = await app.schedules.fire("now")
            assert job is not None
            await job.wait()
        lines: list[dict[str, Any]] = []
        while not any(line["logger"] == "library" for line in lines):
            lines.append(json.loads(await process.stderr.readline()))
        process.terminate()
        _, rest = await process.communicate()

    lines += [json.loads(line) for line in rest.splitlines()]
    [line] = [line for line in lines if line["logger"] == "library"]
    assert line["message"] == "hello ann, **********"
    assert about(line) == [job.id, "logs_in_child", "default", "ann", 1]
    assert HIDDEN not in json.dumps(lines)

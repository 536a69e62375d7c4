"""The command line as a test uses it: in this process, or as a program of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from fairlane.cli import program
from tests.support.process_control import environment

TASKS = '''
import asyncio
from pathlib import Path

from pydantic import SecretStr

from fairlane import Context, Device, Fairlane

app = Fairlane()
app.queue("phones", devices=Device)
app.queue("archive", max_concurrent=2, on_conflict="reject")
app.queue("mail", max_concurrent=1)
app.limit("site", starts=50, per_seconds=60)
app.resource("gpu", 1)


@app.task(queue="archive", lane="{handle}")
async def archive(ctx: Context, handle: str, items: int = 2, tags: list[str] = []) -> dict:
    """Save the posts of an account.

    Not all of it."""
    async with ctx.stage("listing") as stage:
        stage.progress(100, "page 1")
    async with ctx.stage("saving") as stage:
        for number in range(items):
            stage.progress(100 * number / items, f"item {number}")
            ctx.log(f"saved {number}")
    ctx.report(saved=items)
    return {"saved": items}


@app.task(queue="archive", lane="{gate}")
async def gated(ctx: Context, gate: str) -> str:
    """Run until a file of this name is there."""
    ctx.progress(40, "at the gate")
    while not Path(gate).exists():
        await asyncio.sleep(0.02)
    return "through"


@app.task(queue="archive", lane="{gate}")
async def talkative(ctx: Context, gate: str, lines: int) -> None:
    """Log so many lines, and as many again when a file of this name is there."""
    for number in range(lines):
        ctx.log(f"line {number}")
    while not Path(gate).exists():
        await asyncio.sleep(0.02)
    for number in range(lines, 2 * lines):
        ctx.log(f"line {number}")


@app.task(queue="phones")
async def tap(ctx: Context) -> str:
    return ctx.device.name


@app.task(queue="mail")
async def send(to: str, token: SecretStr | None = None) -> str:
    return to


@app.task(queue="mail")
async def broken(why: str) -> None:
    raise ValueError(why)


@app.task(queue="mail", lane=lambda values: values["path"][:1])
async def computed(path: str) -> None: ...


app.schedule("nightly", send.call(to="ann"), cron="0 3 * * *", timezone="Europe/Berlin")
'''


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class CommandLine:
    """Commands against one place; each must end as `code` says."""

    def __init__(self, **settings: str) -> None:
        self._settings = {"COLUMNS": "120", "NO_COLOR": "1", **settings}

    def __call__(self, *words: str, code: int = 0, stdin: str | None = None) -> Said:
        """Run a command in this process."""
        ended = CliRunner().invoke(program, list(words), env=self._settings, input=stdin)
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        said = Said(ended.exit_code, ended.stdout, ended.stderr)
        assert said.code == code, f"{words}: {said}"
        return said

    def json(self, *words: str, code: int = 0) -> Any:
        return self(*words, "--json", code=code).json

    def apart(self, *words: str, code: int = 0, stdin: str | None = None) -> Said:
        """Run a command as a process of its own."""
        ended = subprocess.run(
            [sys.executable, "-m", "fairlane", *words], env=environment(**self._settings),
            capture_output=True, text=True, timeout=50, check=False, input=stdin,
        )  # fmt: skip
        said = Said(ended.returncode, ended.stdout, ended.stderr)
        assert said.code == code, f"{words}: {said}"
        return said

    def in_shell(self, redirection: str, *words: str | bytes, code: int = 0) -> Said:
        """Run a command as a process of its own, with a shell's redirection."""
        ended = subprocess.run(
            ["sh", "-c", f'exec "$0" -m fairlane "$@" {redirection}', sys.executable, *words],
            env=environment(**self._settings), capture_output=True, text=True, timeout=50,
            check=False,
        )  # fmt: skip
        said = Said(ended.returncode, ended.stdout, ended.stderr)
        assert said.code == code, f"{words!r}: {said}"
        return said

    def to_nobody(self, *words: str) -> int:
        """Run a command with a closed pipe as its output, and return its exit code."""
        theirs, ours = os.pipe()
        os.close(theirs)
        try:
            return subprocess.run(
                [sys.executable, "-m", "fairlane", *words], env=environment(**self._settings),
                stdout=ours, stderr=subprocess.DEVNULL, timeout=50, check=False,
            ).returncode  # fmt: skip
        finally:
            os.close(ours)

    async def begin(self, *words: str) -> Process:
        """Begin a command that a test ends, or waits for."""
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fairlane", *words, env=environment(**self._settings),
            stdout=PIPE, stderr=PIPE,
        )  # fmt: skip


class Server:
    """`fairlane serve` on a program and a database of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        (folder / "tasks.py").write_text(TASKS, encoding="utf-8")
        self.database = f"sqlite:///{folder}/work.db"
        with (folder / "serve.log").open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fairlane", "serve", "tasks:app", "--port", "0", *options],
                cwd=folder, env=environment(FAIRLANE_DATABASE=self.database),
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert " on http" in line, f"{line}\n{(folder / 'serve.log').read_text()}"
        self.url = line.split()[-1]

    def gate(self, name: str) -> str:
        return str(self.folder / name)

    def open(self, name: str) -> None:
        (self.folder / name).touch()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self._process.terminate()
        self._ended()

    def kill(self) -> None:
        self._process.kill()
        self._ended()

    def _ended(self) -> None:
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

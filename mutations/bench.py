"""A copy of the repository without one guard, and the commands that run in it."""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, STDOUT
from pathlib import Path
from time import monotonic
from typing import Final, Literal

from msgspec import Struct

from mutations.mutation import Command, Mutation

ROOT: Final = Path(__file__).resolve().parent.parent
_PARTS: Final = ("src", "tests", "simulation", "chaos", "mutations", "pyproject.toml")
_WHERE: Final = "import fairlane, simulation.world; print(fairlane.__file__)"
_LEAST_SECONDS: Final = 60.0

Verdict = Literal["noticed", "survived", "broken"]


class Spoiled(Exception):
    """The copy does not run, so that its results prove nothing."""


class Run(Struct):
    """The end of a command; without a code it was still running at its time limit."""

    code: int | None
    output: str
    seconds: float


class Finding(Struct):
    """The result of one mutation. A mutation that could not be tried is broken."""

    mutation: str
    verdict: Verdict
    command: str = ""
    what: str = ""
    seconds: float = 0.0


class Copy:
    """A fresh copy for each mutation, so that no compiled file of another one is used."""

    def __init__(self, folder: Path, original: Path = ROOT) -> None:
        self.folder = folder = folder.resolve()
        (folder / "tmp").mkdir(parents=True)
        for part in _PARTS:
            source = original / part
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", ".*")
                shutil.copytree(source, folder / part, ignore=ignored)
            else:
                shutil.copy(source, folder / part)

    def mutate(self, mutation: Mutation) -> None:
        (self.folder / mutation.file).write_text(mutation.applied_to(self.folder))

    async def check(self) -> None:
        """Raise unless Python imports this copy instead of the installed package."""
        run = await self.run(Command(("-c", _WHERE), _LEAST_SECONDS))
        found = run.output.strip().splitlines()
        if run.code != 0 or not found:
            raise Spoiled(f"it cannot be imported: {found[-1] if found else run.code}")
        if self.folder not in Path(found[-1]).parents:
            raise Spoiled(f"Python takes {found[-1]}, which is not in the copy {self.folder}")

    async def run(self, command: Command) -> Run:
        """Run Python in the copy; end its child processes with it."""
        began = monotonic()
        with tempfile.TemporaryFile() as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *command.words, cwd=self.folder, env=self._environment(),
                stdin=DEVNULL, stdout=output, stderr=STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                async with asyncio.timeout(command.limit_seconds):
                    await process.wait()
            except TimeoutError:
                pass
            finally:
                code = process.returncode
                if code is None:
                    os.killpg(process.pid, signal.SIGKILL)  # the process leads its own session
                    await process.wait()
            output.seek(0)
            heard = output.read().decode(errors="replace")
        return Run(code, heard, monotonic() - began)

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "PYTHONPATH": f"{self.folder / 'src'}{os.pathsep}{self.folder}",
            "TMPDIR": str(self.folder / "tmp"),
            "CI": "1",  # the same examples of property tests each time
            "COLUMNS": "500",  # findings are read from whole lines
        }


async def try_one(mutation: Mutation, folder: Path, original: Path = ROOT) -> Finding:
    """Remove the guard and run the commands in turn until one notices."""
    began = monotonic()
    copy = await asyncio.to_thread(Copy, folder, original)
    try:
        copy.mutate(mutation)
        await copy.check()
        finding = await _ask(copy, mutation)
    except Spoiled as error:
        finding = Finding(mutation.name, "broken", what=str(error))
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    finding.seconds = monotonic() - began
    return finding


async def _ask(copy: Copy, mutation: Mutation) -> Finding:
    for command in mutation.noticed_by:
        run = await copy.run(command)
        if run.code is None:
            what = f"it hung: no end within {command.limit_seconds:.0f} s"
            return Finding(mutation.name, "noticed", str(command), what)
        if run.code == 1:
            what = command.finding(run.output)
            return Finding(mutation.name, "noticed", str(command), what)
        if run.code != 0:
            last = command.finding(run.output)
            raise Spoiled(f"{command} ended with the code {run.code}: {last}")
    return Finding(mutation.name, "survived")

"""Disks that are full or read-only; work must resume without intervention afterwards."""

import array
import asyncio
import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from chaos import journal
from chaos.processes import ProcessDied
from chaos.result import Result
from chaos.run import Run, wait_until

PATIENCE_SECONDS: Final = 60.0
DISK_SIZE: Final = "96m"
EXPECTED: Final = frozenset({"duplicate", "store_unavailable", "undecided"})


class Unsupported(Exception):
    """This machine or this user cannot create such a disk or network."""


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a small file system in memory."""
    folder.mkdir(parents=True)
    if os.geteuid() != 0:
        raise Unsupported("only root can mount a small file system")
    made = _mount("-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", str(folder))
    if made is not None:
        raise Unsupported(f"a small file system cannot be mounted here: {made}")
    try:
        yield folder
    finally:
        _run("umount", "--lazy", str(folder))


def _mount(*arguments: str) -> str | None:
    """Mount a file system; return an error text, or None."""
    return _run("mount", *arguments)


def _run(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell, and our own words
    except OSError as error:
        return str(error)
    return done.stderr.strip() or f"{command[0]} failed" if done.returncode else None


class FillerFile:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "ballast"

    def fill(self) -> None:
        with self._path.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def free(self) -> None:
        self._path.unlink()


async def full_disk(
    folder: Path, result: Result, *, seed: int, times: int, tick: Callable[[], None]
) -> None:
    with small_disk(folder / "disk") as disk:
        run = Run(folder, result, seed=f"full-disk/{seed}", database=disk / "work.db")
        ballast = FillerFile(disk)
        try:
            await run.start()
            await run.start_inbox_client()
            for number in range(times):
                await _wait_for_new_work(run)
                ballast.fill()
                await _wait_for_refusals(run, "the disk is full")
                if number % 2:
                    # A program that is started on a full disk waits for free space as well.
                    await run.kill(run.programs[0])
                    program = await run.start(ready=False)
                    await asyncio.sleep(1)
                    ballast.free()
                    await program.ready()
                else:
                    ballast.free()
                await _wait_for_new_work(run)
                result.count("times full")
                tick()
            await run.finish()
            _check_refusals(run)
        finally:
            await run.close()


async def _wait_for_new_work(run: Run) -> None:
    """Wait until jobs submitted from now on are acknowledged and begin."""
    since = journal.now()

    def wait_until_work_resumes() -> bool:
        recent = [entry for entry in run.journal.entries() if entry.at > since]
        asked = {entry.job for entry in recent if entry.what == "asked"}
        acked = {entry.job for entry in recent if entry.what == "acked"} & asked
        begun = {entry.job for entry in recent if entry.what == "begin"} & acked
        return len(acked) >= 20 and len(begun) >= 5

    await wait_until(PATIENCE_SECONDS, wait_until_work_resumes, "submitting and beginning")
    run.result.longest("seconds until work went on", (journal.now() - since) / 1e9)


async def _wait_for_refusals(run: Run, words: str) -> None:
    since = journal.now()

    def refused() -> bool:
        told = [
            entry for entry in run.journal.entries()
            if entry.at > since and entry.what == "refused" and entry.key == "store_unavailable"
        ]  # fmt: skip
        return len(told) >= 10 and any(words in entry.text for entry in told)

    await wait_until(PATIENCE_SECONDS, refused, f'a refusal that says "{words}"')


def _check_refusals(run: Run) -> None:
    odd = {
        f"{entry.key}: {entry.text}" for entry in run.journal.entries()
        if entry.what == "refused" and entry.key not in EXPECTED
    }  # fmt: skip
    run.result.found("unclear refusals", sorted(odd))


async def unwritable(
    folder: Path, result: Result, *, seed: int, times: int, tick: Callable[[], None]
) -> None:
    run = Run(folder, result, seed=f"unwritable/{seed}", database=folder / "data" / "work.db")
    run.database.parent.mkdir()
    try:
        for _ in range(times):
            await run.start()
            await _wait_for_new_work(run)
            await _while_it_runs(run)
            await run.kill(run.programs[0])
            await _at_start(run)
            tick()
        await run.start()
        await run.finish()
        _check_refusals(run)
    finally:
        await run.close()


async def _while_it_runs(run: Run) -> None:
    """Make the open files immutable while the program runs, and then writable again."""
    wal = run.database.with_name(run.database.name + "-wal")
    try:
        with immutable(run.database), immutable(wal):
            await _wait_for_refusals(run, "")
    except Unsupported as error:
        run.result.count(f"not tried while it runs: {error}")
        return
    await _wait_for_new_work(run)
    run.result.count("times unwritable while it ran")


async def _at_start(run: Run) -> None:
    """Start a program where it cannot write: it must report that and exit, and start later."""
    errors = run.folder / "errors"
    before = errors.stat().st_size
    with read_only(run.database.parent):
        program = await run.start(ready=False)
        try:
            await program.ready()
        except ProcessDied:
            pass
        else:
            run.result.problem("it started on a database that cannot be written to")
        await program.kill()
        run.programs.remove(program)
    told = errors.read_bytes()[before:].decode()
    if "StoreUnavailable" not in told or str(run.database.parent) not in told:
        run.result.problem(f"an unclear error at the start: {told[-300:]!r}")
    run.result.count("starts refused")


_GET_FLAGS: Final = 0x80086601  # FS_IOC_GETFLAGS and FS_IOC_SETFLAGS of Linux
_SET_FLAGS: Final = 0x40086602
_IMMUTABLE: Final = 0x10


@contextmanager
def immutable(path: Path) -> Iterator[None]:
    """Refuse writes to a file, even through open descriptors, as when a disk turns read-only."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        flags = array.array("l", [0])
        try:
            fcntl.ioctl(descriptor, _GET_FLAGS, flags, True)
            before = flags[0]
            flags[0] = before | _IMMUTABLE
            fcntl.ioctl(descriptor, _SET_FLAGS, flags)
        except OSError as error:
            raise Unsupported(f"files cannot be made immutable here ({error.strerror})") from None
        try:
            yield
        finally:
            flags[0] = before
            fcntl.ioctl(descriptor, _SET_FLAGS, flags)
    finally:
        os.close(descriptor)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Refuse writes into a folder. Permissions do not bind root, a read-only mount does."""
    with ExitStack() as undo:
        if os.geteuid() != 0:
            for path in (*folder.iterdir(), folder):
                undo.callback(path.chmod, path.stat().st_mode)
                path.chmod(0o500 if path.is_dir() else 0o400)
        else:
            wrong = _mount("--bind", str(folder), str(folder))
            if wrong is None:
                undo.callback(_run, "umount", "--lazy", str(folder))
                wrong = _mount("-o", "remount,bind,ro", str(folder))
            if wrong is not None:
                raise Unsupported(f"a folder cannot be made read-only here: {wrong}")
        yield

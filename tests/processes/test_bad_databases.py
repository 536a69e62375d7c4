"""Databases that cannot be used: one clear error, and no file is changed."""

import asyncio
import os
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest

from fairlane.store.sqlite import SQLiteStore
from tests.support.process_control import environment
from tests.support.programs_processes import script

NOBODY = "65534"


async def run(path: Path, mode: str, *, as_somebody_else: bool = False) -> tuple[int, str]:
    """Run a program on a database; return its exit code and the last line of its errors."""
    user = {"PROCESS_USER": NOBODY} if as_somebody_else and os.geteuid() == 0 else {}
    process = await asyncio.create_subprocess_exec(
        *script("process_bad_database.py", f"sqlite:///{path}", mode),
        stdout=PIPE,
        stderr=PIPE,
        env=environment(**user),
    )
    try:
        async with asyncio.timeout(30):
            _, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    lines = err.decode().strip().splitlines()
    return process.returncode, lines[-1] if lines else ""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


async def a_database(path: Path) -> None:
    store = SQLiteStore(path)
    await store.open()
    await store.close()


def newer(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 9_999)
    connection.close()


def corrupt(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 4000)


def not_a_database(path: Path) -> None:
    path.write_text("Dear diary, this is no database at all.\n" * 100)


def of_another_program(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE contacts (name)")
    connection.close()


@pytest.mark.parametrize("mode", ["asyncio", "plain"])
@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (newer, "SchemaTooNew", "upgrade Fairlane"),
        (corrupt, "DatabaseCorrupt", "damaged"),
        (not_a_database, "DatabaseCorrupt", "is not a Fairlane database"),
        (of_another_program, "StoreUnavailable", "another program's database"),
    ],
)
async def test_a_file_that_is_no_fairlane_database_is_refused_and_left_unchanged(
    tmp_path: Path, spoil: Callable[[Path], None], error: str, words: str, mode: str
) -> None:
    path = tmp_path / "work.db"
    await a_database(path)
    spoil(path)
    before = contents(tmp_path)
    code, line = await run(path, mode)
    assert code == 1
    assert line.startswith(f"fairlane.errors.{error}: ")
    assert words in line
    assert str(path) in line
    assert contents(tmp_path) == before


async def test_the_error_names_a_missing_folder(tmp_path: Path) -> None:
    code, line = await run(tmp_path / "nowhere" / "work.db", "asyncio")
    assert code == 1
    assert line.startswith("fairlane.errors.StoreUnavailable: ")
    assert f"the folder {tmp_path / 'nowhere'}" in line
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that other users can read; only this user can read the folders of pytest."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.parametrize("exists", [True, False])
async def test_a_folder_without_write_permission_is_refused(reachable: Path, exists: bool) -> None:
    folder = reachable / "locked"
    folder.mkdir()
    path = folder / "work.db"
    if exists:
        await a_database(path)
    folder.chmod(0o555)
    before = contents(folder)
    code, line = await run(path, "asyncio", as_somebody_else=True)
    folder.chmod(0o755)
    assert code == 1
    assert line.startswith("fairlane.errors.StoreUnavailable: ")
    assert str(path) in line
    assert contents(folder) == before


async def test_a_file_without_write_permission_is_refused(reachable: Path) -> None:
    """The program may write the folder but not the file."""
    path = reachable / "work.db"
    await a_database(path)
    reachable.chmod(0o777)
    path.chmod(0o444)
    before = path.read_bytes()
    code, line = await run(path, "asyncio", as_somebody_else=True)
    assert code == 1
    assert line.startswith("fairlane.errors.StoreUnavailable: ")
    assert str(path) in line
    assert path.read_bytes() == before

"""`doctor`, `backup`, `prune` and `migrate` on the command line, also on a damaged database."""

import asyncio
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from fairlane import Device, Fairlane
from tests.cli.commands import CommandLine, Server
from tests.support.eventually import eventually, eventually_sync


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "work.db"


@pytest.fixture
def fairlane(database: Path) -> CommandLine:
    return CommandLine(FAIRLANE_DATABASE=f"sqlite:///{database}")


def findings(fairlane: CommandLine, *, code: int = 0) -> dict[str, str]:
    """Return the level of each finding by subject."""
    found = fairlane.json("doctor", code=code)["findings"]
    return {finding["subject"]: finding["level"] for finding in found}


def worked(database: Path, *, jobs: int) -> list[str]:
    """Run so many jobs to their end."""
    app = Fairlane(f"sqlite:///{database}")

    @app.task
    async def work(number: int) -> int:
        return number

    with app:
        submitted = app.sync.submit_many([work.call(n) for n in range(jobs)])
        app.sync.drain()
    return [job.id for job in submitted]


# doctor


def test_a_database_that_is_well_gets_a_clean_bill(fairlane: CommandLine, database: Path) -> None:
    worked(database, jobs=2)
    said = fairlane("doctor")
    assert said.lines[-1] == "all is well"
    assert any("2 jobs ended" in line for line in said.lines)


def test_devices_that_are_down_are_told_with_the_reason(
    fairlane: CommandLine, database: Path
) -> None:
    class Loose(Device):
        def connect(self) -> None:
            if self.name == "pixel":
                raise ConnectionError("no cable")

    app = Fairlane(f"sqlite:///{database}")
    app.queue("phones", devices=Loose)
    with app:
        for name in ("pixel", "galaxy"):
            app.sync.devices.save(name, queue="phones")
        eventually_sync(lambda: app.sync.devices.list()["galaxy"].state == "idle")
        eventually_sync(lambda: app.sync.devices.list()["pixel"].note == "no cable")
        told = fairlane("doctor").out
    assert "1 of 2 down: pixel: no cable" in told


def test_no_database_is_a_problem(fairlane: CommandLine, database: Path) -> None:
    assert findings(fairlane, code=1)["file"] == "problem"
    assert not database.exists()


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_broken_file_is_a_problem_and_stays_as_it_is(
    fairlane: CommandLine, database: Path, content: bytes
) -> None:
    database.write_bytes(content)
    assert "problem" in findings(fairlane, code=1).values()
    assert database.read_bytes() == content


def test_a_damaged_page_is_found(fairlane: CommandLine, database: Path) -> None:
    fairlane("migrate")
    whole = database.read_bytes()
    database.write_bytes(whole[:8192] + b"\xff" * 4096 + whole[12288:])
    assert "problem" in findings(fairlane, code=1).values()


def test_another_programs_database_is_a_problem(fairlane: CommandLine, database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    assert findings(fairlane, code=1)["schema"] == "problem"
    assert "another program" in fairlane("jobs", code=5).err


def test_a_newer_schema_is_a_problem_that_says_what_to_do(
    fairlane: CommandLine, database: Path
) -> None:
    fairlane("migrate")
    connection = apsw.Connection(str(database))
    connection.pragma("user_version", 99)
    connection.close()
    assert findings(fairlane, code=1)["schema"] == "problem"
    assert "upgrade Fairlane" in fairlane("doctor", code=1).out
    assert "upgrade Fairlane" in fairlane("jobs", code=5).err


def test_a_database_of_another_development_version_is_a_problem(
    fairlane: CommandLine, database: Path
) -> None:
    fairlane("migrate")
    change(database, "DELETE FROM meta WHERE name = 'migration 1'")
    assert findings(fairlane, code=1)["schema"] == "problem"
    assert "another (development) version" in fairlane("doctor", code=1).out
    assert "another (development) version" in fairlane("jobs", code=5).err


def test_an_error_of_sql_is_a_problem(fairlane: CommandLine, database: Path) -> None:
    fairlane("migrate")
    change(database, "DROP TABLE dead_letter")
    assert findings(fairlane, code=1)["tables"] == "problem"
    assert "no such table: dead_letter" in fairlane("doctor", code=1).out


def change(database: Path, sql: str) -> None:
    connection = apsw.Connection(str(database))
    connection.execute(sql)
    connection.close()


@pytest.fixture
def locked(database: Path, fairlane: CommandLine) -> Iterator[None]:
    """Another connection holds a transaction open."""
    fairlane("migrate")
    connection = apsw.Connection(str(database))
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("ROLLBACK")
    connection.close()


@pytest.mark.usefixtures("locked")
def test_a_locked_database_is_a_problem(fairlane: CommandLine) -> None:
    found = findings(fairlane, code=1)
    assert found["write lock"] == "problem"
    assert found["schema"] == "ok"


async def test_what_nobody_can_decide_is_told(fairlane: CommandLine, database: Path) -> None:
    """Waiting jobs, a paused queue, and a rejected message."""
    app = Fairlane(f"sqlite:///{database}", work=False)
    app.queue("mail")

    @app.task(queue="mail")
    async def send() -> None: ...

    async with app:
        await app.queues.pause("mail")
        await send.submit()
    connection = apsw.Connection(str(database))
    connection.execute("INSERT INTO dead_letter VALUES ('input', 'ValueError(1)', 1)")
    connection.close()
    found = await asyncio.to_thread(findings, fairlane)
    warned = {subject for subject, level in found.items() if level == "warning"}
    assert warned == {"leader", "queues", "dead letters"}


def test_a_server_is_asked_how_it_is(server: Server) -> None:
    found = findings(CommandLine(FAIRLANE_URL=server.url))
    assert {found[subject] for subject in ("server", "leader", "workers")} == {"ok"}


def test_no_server_is_a_problem() -> None:
    assert findings(CommandLine(FAIRLANE_URL="http://127.0.0.1:9"), code=1)["server"] == "problem"


# migrate


def test_migrations_are_shown_and_taken(fairlane: CommandLine, database: Path) -> None:
    assert fairlane("migrate", "--dry-run").lines[0].endswith("missing")
    assert not database.exists()
    assert fairlane("migrate").lines[0].endswith("applied now")
    assert fairlane("migrate").lines[0].endswith("applied")
    assert fairlane.json("migrate")["missing"] == []


# prune


def test_the_past_is_pruned_by_number_and_by_age(fairlane: CommandLine, database: Path) -> None:
    worked(database, jobs=5)
    assert fairlane("prune", "--keep", "2", "--dry-run").lines == ["3 jobs would be deleted"]
    assert fairlane("prune", "--keep", "2").lines == ["3 jobs are deleted"]
    assert fairlane.json("prune", "--older-than", "1h")["jobs"] == 0
    assert fairlane.json("prune", "--older-than", "0s", "--state", "failed")["jobs"] == 0
    assert fairlane.json("prune", "--older-than", "0s")["jobs"] == 2
    assert "no jobs" in fairlane("jobs").out


@pytest.mark.parametrize(
    "words",
    [["prune"], ["prune", "--older-than", "soon"], ["prune", "--keep", "1", "--state", "x"]],
)
def test_a_prune_that_does_not_say_what_is_refused(alone: CommandLine, words: list[str]) -> None:
    alone(*words, code=2)


async def test_a_program_keeps_as_much_of_the_past_as_it_says(database: Path) -> None:
    app = Fairlane(f"sqlite:///{database}", keep_history=3)

    @app.task
    async def work(number: int) -> None: ...

    async with app:
        await app.submit_many([work.call(n) for n in range(10)])
        await app.drain()
    async with app:  # the leader prunes when it begins, and then every minute

        async def kept() -> bool:
            return len((await app.jobs.history()).items) == 3

        await eventually(kept, what="seven jobs are deleted")


# backup


async def test_a_copy_is_made_while_jobs_run(fairlane: CommandLine, database: Path) -> None:
    """The copy is whole and of one state, though the leader commits all the time."""
    app = Fairlane(f"sqlite:///{database}")

    @app.task
    async def work(number: int, padding: str) -> None: ...

    copy = database.with_name("copy.db")
    async with app:
        copying = asyncio.create_task(asyncio.to_thread(fairlane.apart, "backup", str(copy)))
        submitted = 0
        while not copying.done():
            await app.submit_many([work.call(n, "x" * 1000) for n in range(200)])
            submitted += 200
            await asyncio.sleep(0)
        assert "MiB" in (await copying).out
    copied = CommandLine(FAIRLANE_DATABASE=f"sqlite:///{copy}")
    assert await asyncio.to_thread(findings, copied)
    async with Fairlane(f"sqlite:///{copy}", work=False) as restored:
        page = await restored.jobs.list(limit=1000)
        assert len(page.items) <= submitted
    assert sorted(path.name for path in database.parent.glob("*unfinished*")) == []


def test_a_copy_begins_where_the_original_stood(fairlane: CommandLine, database: Path) -> None:
    jobs = worked(database, jobs=3)
    copy = database.with_name("copy.db")
    fairlane("backup", str(copy))
    with Fairlane(f"sqlite:///{copy}") as app:
        assert {job.id for job in app.sync.jobs.history().items} == set(jobs)


def test_a_copy_never_replaces_a_file(alone: CommandLine, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("precious")
    assert "exists already" in alone("backup", str(there), code=2).err
    assert there.read_text() == "precious"


@pytest.mark.parametrize("name", ["no/folder", "n" * 300])
def test_a_copy_that_cannot_be_made_there_is_not_the_database_s_fault(
    alone: CommandLine, tmp_path: Path, name: str
) -> None:
    said = alone("backup", str(tmp_path / name), code=2).err
    assert f"{name} cannot be written" in said
    assert "alone.db" not in said


def test_postgres_makes_its_own_backups(postgres_dsn: str) -> None:
    fairlane = CommandLine(FAIRLANE_DATABASE=postgres_dsn)
    said = fairlane("backup", "copy.dump", code=2).err
    words = shlex.split(said.partition("run: ")[2])
    assert words[:4] == ["pg_dump", "--format=custom", "--schema=fairlane", "--file=copy.dump"]
    assert words[4].startswith("postgresql://")


def test_the_command_for_postgres_names_the_same_server_to_a_shell() -> None:
    address = "postgresql://me:hush@/work?host=/run/my+dir&port=5433&sslmode=prefer&password=hush"
    fairlane = CommandLine(FAIRLANE_DATABASE=f"{address}&fairlane_schema=other")
    said = fairlane("backup", "my copy; rm x", code=2).err
    words = shlex.split(said.partition("run: ")[2])
    assert words[:4] == [
        "pg_dump", "--format=custom", "--schema=other", "--file=my copy; rm x",
    ]  # fmt: skip
    assert words[4] == "postgresql://me@/work?host=/run/my+dir&port=5433&sslmode=prefer"
    assert "hush" not in said


def test_postgres_is_looked_over_migrated_and_pruned(postgres_dsn: str) -> None:
    fairlane = CommandLine(FAIRLANE_DATABASE=postgres_dsn)
    assert findings(fairlane)["schema"] == "warning"
    assert fairlane("migrate").lines[0].endswith("applied now")
    found = findings(fairlane)
    assert set(found.values()) == {"ok"}
    assert {"server", "clock", "transactions", "leader", "inbox"} <= found.keys()
    assert fairlane.json("prune", "--keep", "0")["jobs"] == 0
    assert "no jobs" in fairlane("jobs").out


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    dsn = f"postgresql://nobody:secret@127.0.0.1:9/none?user={os.getpid()}"
    said = CommandLine(FAIRLANE_DATABASE=dsn)("doctor", code=1).out
    assert "cannot be reached" in said
    assert "secret" not in said

"""The raw limits: SQLite on this disk and asyncio without a queue."""

# ruff: noqa: S608  all names in SQL here are constants; values are bound.

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

from benchmarks.contestant_main import Figures, Request, answer
from fairlane import Fairlane

SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"


def opened(folder: Path) -> apsw.Connection:
    connection = apsw.Connection(str(folder / "raw.db"))
    connection.execute(SETTINGS)
    return connection


def fsyncs(request: Request) -> Figures:
    """Append a page and sync it, repeatedly."""
    page = bytes(4096)
    with (request.folder / "pages").open("wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(request.jobs):
            file.write(page)
            os.fsync(file.fileno())
        seconds = time.perf_counter() - began
    return {"per_second": request.jobs / seconds}


def commits(request: Request) -> Figures:
    connection = opened(request.folder)
    connection.execute("CREATE TABLE tiny (id INTEGER PRIMARY KEY, body TEXT)")
    began = time.perf_counter()
    for number in range(request.jobs):
        connection.execute("INSERT INTO tiny VALUES (?, 'x')", (number,))
    return {"per_second": request.jobs / (time.perf_counter() - began)}


def tiny_rows(request: Request) -> Figures:
    connection = opened(request.folder)
    connection.execute("CREATE TABLE tiny (id INTEGER PRIMARY KEY, body TEXT)")
    rows = [(number, "x") for number in range(request.jobs)]
    began = time.perf_counter()
    with connection:
        connection.executemany("INSERT INTO tiny VALUES (?, ?)", rows)
    return {"per_second": request.jobs / (time.perf_counter() - began)}


def same_rows(request: Request) -> Figures:
    """Insert the rows that Fairlane writes for each submitted job into bare tables without indexes
    or checks."""
    tables = asyncio.run(submitted(request.folder, request.jobs))
    connection = opened(request.folder)
    for name, rows in tables.items():
        columns = ", ".join(f"c{index}" for index in range(len(rows[0])))
        connection.execute(f"CREATE TABLE {name} ({columns})")
    began = time.perf_counter()
    with connection:
        for name, rows in tables.items():
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    seconds = time.perf_counter() - began
    count = sum(len(rows) for rows in tables.values())
    return {
        "per_second": request.jobs / seconds,
        "rows_per_second": count / seconds,
        "rows_per_job": count / request.jobs,
        "bytes_per_job": sum(map(size, tables.values())) / request.jobs,
    }


async def submitted(folder: Path, jobs: int) -> dict[str, list[tuple[Any, ...]]]:
    """Submit jobs and return their stored rows, by table."""
    app = Fairlane(f"sqlite:///{folder}/fairlane.db")

    @app.task
    async def noop(number: int) -> None: ...

    async with app:
        await app.queues.pause("default")
        await app.submit_many([noop.call(number) for number in range(jobs)])
    connection = apsw.Connection(str(folder / "fairlane.db"))
    names = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    ]
    tables = {name: list(connection.execute(f"SELECT * FROM {name}")) for name in names}
    return {name: rows for name, rows in tables.items() if len(rows) >= jobs}


def size(rows: Sequence[Iterable[Any]]) -> int:
    return sum(len(str(value)) for row in rows for value in row if value is not None)


def tasks(request: Request) -> Figures:
    async def noop() -> None: ...

    async def all_of_them() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(asyncio.create_task(noop()) for _ in range(request.jobs)))
        return time.perf_counter() - began

    return {"per_second": request.jobs / asyncio.run(all_of_them())}


if __name__ == "__main__":
    answer({
        "fsyncs": fsyncs,
        "commits": commits,
        "tiny rows": tiny_rows,
        "same rows": same_rows,
        "tasks": tasks,
    })  # fmt: skip

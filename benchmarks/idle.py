"""The cost of idle processes: transactions on PostgreSQL, CPU time and wake-ups on SQLite.

    python -m benchmarks.idle --seconds 30 --processes 4

The processes have a task, a schedule of once a year and nothing to do. Transactions are counted by
the server itself (`pg_stat_database`), statements by its log.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import asyncpg
from msgspec import Struct

from fairlane import Fairlane
from tests.support.postgres import running_postgres

# For the start to end, and for its transactions to be counted: a silent session reports them after
# ten seconds.
SETTLE_SECONDS: Final = 20.0
_TRANSACTIONS: Final = """
SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()
"""
_STATEMENT: Final = re.compile(r"(?:execute [^:]*|statement): (.*)")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Use(Struct, frozen=True):
    """What a process has used so far."""

    cpu_seconds: float
    wakeups: int

    @classmethod
    def of(cls, pid: int) -> "Use":
        cpu, wakeups = 0.0, 0
        for thread in Path(f"/proc/{pid}/task").iterdir():
            fields = (thread / "stat").read_text().rpartition(")")[2].split()
            cpu += (int(fields[11]) + int(fields[12])) / _TICKS
            switches = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", _status(thread), re.M)
            wakeups += int(switches[1]) if switches else 0
        return cls(cpu, wakeups)


def _status(thread: Path) -> str:
    return (thread / "status").read_text()


@contextmanager
def idle_processes(database: str, count: int) -> Iterator[list[int]]:
    """Run idle processes on a database; yield their ids when all have started."""
    command = [sys.executable, "-m", "benchmarks.idle", "--run", database]
    processes = []
    try:
        for _ in range(count):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
            processes.append(process)
        for process in processes:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("an idle process ended before it was ready; run it by hand")
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


async def run_idle(database: str) -> None:
    app = Fairlane(database)

    @app.task()
    async def nothing() -> None: ...

    app.schedule("yearly", nothing.call(), cron="0 0 1 1 *")
    async with app:
        print("ready", flush=True)
        await asyncio.Event().wait()


def measure_postgres(count: int, seconds: float) -> None:
    log_all = {"log_statement": "all", "log_line_prefix": "%a|"}
    with running_postgres(settings=log_all) as server:
        dsn = server.new_database()
        with idle_processes(dsn, count) as pids:
            time.sleep(SETTLE_SECONDS)
            before, uses = asyncio.run(_transactions(dsn)), [Use.of(pid) for pid in pids]
            began = time.monotonic()
            logged = len(server.log())
            time.sleep(seconds)
            # The reader's own connection costs a few transactions, which do not grow with time.
            made = asyncio.run(_transactions(dsn)) - before
            seconds = time.monotonic() - began
            after = [Use.of(pid) for pid in pids]
            kinds = _kinds(server.log()[logged:])
    print(f"PostgreSQL, {count} idle processes, {seconds:.0f} s")
    print(
        f"  transactions a second: {made / seconds:.2f}, each process {made / seconds / count:.2f}"
    )
    _print_uses(uses, after, seconds)
    for kind, times in kinds.most_common(14):
        print(f"  {times / seconds:6.2f}/s  {kind}")


async def _transactions(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval(_TRANSACTIONS))
    finally:
        await connection.close()


def _kinds(log: str) -> Counter[str]:
    statements = map(_STATEMENT.search, re.sub(r"\n[\t ]+", " ", log).splitlines())
    return Counter(" ".join(found[1].split())[:90] for found in statements if found)


def measure_sqlite(seconds: float) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        idle_processes(f"sqlite:///{folder}/idle.db", 1) as [pid],
    ):
        time.sleep(SETTLE_SECONDS)
        before = Use.of(pid)
        time.sleep(seconds)
        after = Use.of(pid)
    print(f"SQLite, one idle process, {seconds:.0f} s")
    _print_uses([before], [after], seconds)


def _print_uses(before: list[Use], after: list[Use], seconds: float) -> None:
    for old, new in zip(before, after, strict=True):
        cpu = (new.cpu_seconds - old.cpu_seconds) / seconds * 3600
        wakeups = (new.wakeups - old.wakeups) / seconds
        print(f"  a process: {cpu:.1f} CPU seconds an hour, {wakeups:.1f} wake-ups a second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--run", metavar="DATABASE", help="be one idle process")
    parser.add_argument("--only", choices=["postgres", "sqlite"])
    arguments = parser.parse_args()
    if arguments.run:
        asyncio.run(run_idle(arguments.run))
        return
    if arguments.only != "sqlite":
        measure_postgres(arguments.processes, arguments.seconds)
    if arguments.only != "postgres":
        measure_sqlite(arguments.seconds)


if __name__ == "__main__":
    main()

"""The PostgreSQL server and its processes: engines that submit and work, and workers."""

import asyncio
import itertools
import os
import re
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import asyncpg
import msgspec

from chaos.bad_disks import Unsupported
from chaos.journal import Entry, Journal, now
from chaos.postgres.ended_job import EndedJob
from chaos.postgres.network import Network
from chaos.postgres.settings import TICK
from chaos.postgres.supervised_process import SupervisedProcess
from chaos.processes import CommandRefused, ProcessDied, environment
from chaos.result import Result
from chaos.run import wait_until
from tests.support.postgres import Server, running_postgres

PATIENCE_SECONDS: Final = 60.0
DRAIN_SECONDS: Final = 120.0
# The errors that a submitter must expect while leaders, networks and servers fail.
TRANSIENT: Final = frozenset({"store_unavailable", "undecided"})

_LEADER: Final = """
SELECT leadership.leader, pg_locks.pid FROM fairlane.leadership, pg_locks
JOIN pg_stat_activity ON pg_stat_activity.pid = pg_locks.pid
WHERE locktype = 'advisory' AND granted AND application_name = 'fairlane leader'
"""
_OTHERS: Final = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


class Cluster:
    def __init__(
        self, folder: Path, result: Result, server: Server, network: Network | None, *, seed: str
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.journal = Journal(folder / "journal")
        self.result = result
        self.server = server
        self.network = network
        self.dsn = server.new_database()
        self.members: list[SupervisedProcess] = []
        self.away_until: int | None = 0  # when the server was last started; None while it is down
        self._folder = folder
        self._seed = seed
        self._numbers = itertools.count(1)

    def add_member(self, kind: str, *, inside: bool = False, load: bool = True) -> None:
        """Start and supervise one more process."""
        dsn = self.dsn
        if inside:
            assert self.network is not None
            database = dsn.partition("?")[0].rpartition("/")[2]
            dsn = self.server.tcp_dsn(database).replace("127.0.0.1", self.network.server)
        facts = {**environment(self._folder, dsn, self._seed), "CHAOS_DRIVER": str(os.getpid())}
        member = SupervisedProcess(
            f"{kind}-{len(self.members) + 1}{'-inside' if inside else ''}",
            "engine" if kind == "engine" else "worker",
            folder=self._folder, journal=self.journal, result=self.result, environment=facts,
            next_number=lambda: next(self._numbers), was_away=self._was_away,
            within=self.network.within if inside and self.network is not None else (),
        )  # fmt: skip
        member.load = member.load and load
        self.members.append(member)
        member.start_supervision()

    def _was_away(self, since: int) -> bool:
        """Return whether the server was restarted at any time since `since`."""
        return self.away_until is None or self.away_until > since

    async def all_ready(self) -> None:
        for member in self.members:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await member.is_ready.wait()

    # the leader

    async def leading(self) -> tuple[SupervisedProcess, int] | None:
        """Return the leading process and the connection that holds its lock, or None."""
        try:
            connection = await asyncpg.connect(self.dsn, timeout=5)
            try:
                rows = await connection.fetch(_LEADER, timeout=5)
            finally:
                await connection.close(timeout=5)
        except (OSError, asyncpg.PostgresError, TimeoutError):
            return None
        for name, backend in rows:
            pid = re.match(r"process (\d+) ", name)
            for member in self.members:
                if pid is not None and member.pid == int(pid[1]):
                    return member, backend
        return None

    async def leader(self) -> tuple[SupervisedProcess, int]:
        """Wait until a process leads that no fault is being injected into."""
        found: list[tuple[SupervisedProcess, int]] = []

        async def probe() -> bool:
            leading = await self.leading()
            if leading is not None and leading[0].is_free:
                found.append(leading)
            return bool(found)

        await wait_until(PATIENCE_SECONDS, probe, "a leader")
        return found[0]

    async def wait_until_work_resumes(self, since: int, *, without: int = 0) -> float:
        """Wait until another process leads and a job begins; return the seconds that took."""
        new: list[int] = []
        seconds: list[float] = []

        async def probe() -> bool:
            if not new:
                leading = await self.leading()
                if leading is not None and leading[0].number != without:
                    new.append(now())
                return False
            for entry in self.entries_since(new[0]):
                if entry.what == "begin" and entry.program != without:
                    seconds.append((entry.at - since) / 1e9)
                    return True
            return False

        await wait_until(PATIENCE_SECONDS, probe, "a job started by another leader")
        return seconds[0]

    def entries_since(self, at: int) -> list[Entry]:
        """Return the entries after `at`; a writer stamps its entry at most 2 s before it appends
        it."""
        found = []
        for entry in reversed(self.journal.entries()):
            if entry.at < at - 2_000_000_000:
                break
            if entry.at > at:
                found.append(entry)
        return found[::-1]

    async def backends(self) -> list[int]:
        connection = await asyncpg.connect(self.dsn, timeout=5)
        try:
            return [row[0] for row in await connection.fetch(_OTHERS)]
        finally:
            await connection.close(timeout=5)

    async def terminate(self, backend: int) -> None:
        connection = await asyncpg.connect(self.dsn, timeout=5)
        try:
            await connection.execute("SELECT pg_terminate_backend($1)", backend)
        finally:
            await connection.close(timeout=5)

    # the end

    async def ask(self, verb: str, name: str = "", **named: object) -> object:
        """Send a command to the engines in turn until one executes it."""
        turn = itertools.cycle([member for member in self.members if member.kind == "engine"])
        while True:
            member = next(turn)
            if member.is_free:
                try:
                    return await member.ask(verb, name, **named)
                except ProcessDied:
                    pass
                except CommandRefused as error:
                    if error.code not in TRANSIENT:
                        raise
            await asyncio.sleep(0.05)

    async def finish(self) -> list[EndedJob]:
        """Let all jobs end; return the ended jobs."""
        await self.all_ready()
        for member in self.members:
            if member.kind == "engine":
                await member.ask("quiet")
        await self.ask("schedules.pause", TICK)
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.ask("drain")
        except TimeoutError:
            self.result.problem(f"not all jobs have ended {DRAIN_SECONDS:g} s after the last fault")
        report = self._folder / "ended"
        await self.ask("report", str(report))
        await asyncio.gather(*(member.stop_supervision() for member in self.members))
        lines = report.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=EndedJob) for line in lines]

    async def dead_letters(self) -> int:
        """Return the number of dead letters."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return int(await connection.fetchval("SELECT count(*) FROM fairlane.dead_letter"))
        finally:
            await connection.close()

    async def close(self) -> None:
        await asyncio.gather(*(member.close() for member in self.members))


@asynccontextmanager
async def cluster(
    folder: Path, result: Result, *, seed: str, cuts: bool = False
) -> AsyncIterator[Cluster]:
    """Run a server, with a network that can be cut where `cuts` is set and the machine allows
    it."""
    with ExitStack() as stack:
        network: Network | None = None
        settings = {"max_connections": "200"}
        if cuts:
            try:
                network = stack.enter_context(Network.made())
            except Unsupported as error:
                result.remark(f"no network is cut: {error}")
            else:
                settings |= _open_to(network, stack.enter_context(TemporaryDirectory()))
        try:
            server = stack.enter_context(running_postgres(settings=settings, durable=True))
        except LookupError as error:
            raise Unsupported(str(error)) from None
        made = Cluster(folder, result, server, network, seed=seed)
        try:
            yield made
        finally:
            await made.close()


def _open_to(network: Network, folder: str) -> dict[str, str]:
    """Return server settings that allow connections from the network too."""
    Path(folder).chmod(0o755)  # the server runs as another user
    access = Path(folder) / "access"
    access.write_text(
        "local all all trust\n"
        "host all all 127.0.0.1/32 scram-sha-256\n"
        f"host all all {network.server}/24 scram-sha-256\n"
    )
    access.chmod(0o644)
    return {"listen_addresses": f"127.0.0.1,{network.server}", "hba_file": str(access)}

"""One world: generated from a seed, run, settled, and checked."""

import asyncio
import gc
import hashlib
import logging
import random as chance
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from random import Random
from typing import Any, Final, cast

from msgspec import Struct

from fairlane import ids
from fairlane.errors import FairlaneError
from fairlane.runtime import threads
from fairlane.runtime.poll_intervals import PollIntervals
from simulation.clock import WallClock
from simulation.databases import SharedInMemory, StoreKind, create_database
from simulation.faulty_store import FaultyStore
from simulation.host import Host
from simulation.journal import Journal, Run
from simulation.loop import SimulatedLoop, Standstill
from simulation.poll_intervals import QUICK, SLOW
from simulation.process_faults import ProcessFaults
from simulation.program import QUEUES, SCHEDULE, save_screens
from simulation.random_user import RandomUser
from simulation.rules.events import Follower, check_changes
from simulation.rules.final_states import check_ends
from simulation.rules.firings import check_firings
from simulation.rules.memory_equals_store import check_memory
from simulation.rules.rates import check_rates
from simulation.rules.stalls import check_stalls
from simulation.rules.start_conditions import check_start
from simulation.rules.starvation import Starvation
from simulation.rules.submission_order import check_moves, check_order
from simulation.rules.uniqueness import check_keys, check_refusals
from simulation.store_faults import RandomStoreFaults, StoreFaults

REST_SECONDS: Final = 4 * 3600.0
_LOOK_SECONDS: Final = 5.0
_MEMORY_CHECKS: Final = 0.05  # of all commits


class Verdict(Struct):
    """The result of one world."""

    seed: int
    store: StoreKind
    violations: list[str]
    seconds: float
    jobs: int
    runs: int
    faults: dict[str, int]
    checks: dict[str, int]
    digest: str


class World:
    def __init__(self, seed: int, store: StoreKind, faults: StoreFaults | None = None) -> None:
        self.seed = seed
        self.store = store
        self.random = Random(seed)
        self.loop = SimulatedLoop()
        self.wall = WallClock(self.loop)
        self.database = create_database(store)
        self.journal = Journal(self.loop, shared=store == "shared")
        self.faults = faults or RandomStoreFaults(Random(self.random.random()))
        self.followers: dict[str, Follower] = {}
        self.hosts: list[Host] = []
        self._dice = Random(seed)  # separate, because checks must not change the world
        self._starvation = Starvation(self.journal)
        self.journal.on_begin = self._check_begin

    def _check_begin(self, run: Run) -> None:
        check_start(self.journal, run)
        # Across processes, bodies do not begin in the order of their starts.
        if not self.journal.shared:
            self._starvation.began(run)

    def add_host(self, name: str, *, lost: float, intervals: PollIntervals, slots: int) -> Host:
        host = Host(
            name, loop=self.loop, wall=self.wall, database=self.database, journal=self.journal,
            faults=self.faults, random=Random(self.random.random()), intervals=intervals,
            slots=slots, lost=lost,
        )  # fmt: skip
        host.committed = self._committed
        self.hosts.append(host)
        self.followers[name] = Follower(self.journal)
        return host

    # inside a process

    async def follow(self, host: Host) -> None:
        """Follow the events of a process; the next process resumes where this one stopped."""
        follower = self.followers[host.name]
        while True:
            try:
                async for event in host.app.events.follow(after=follower.seq):  # type: ignore[union-attr]
                    if event.type == "resync":
                        self.journal.violate("events", f"{event.seq}: resync in a short world")
                        return
                    follower.saw(event)
            except FairlaneError:
                await asyncio.sleep(0.5)
            else:
                return

    def stop_faults(self) -> None:
        """Stop all faults of the world."""
        self.faults.active = False
        for host in self.hosts:
            host.lost = 0.0
            for inbox in host.inboxes:
                inbox.lost = inbox.twice = 0.0
            for store in host.stores:
                store.is_cut = False

    # the end

    async def settle(self) -> None:
        """Let all jobs end without further faults, then check the rules."""
        journal = self.journal
        await asyncio.sleep(_LOOK_SECONDS)  # messages of dead processes are decided first
        paused = journal.schedule_paused.record_sent(True, journal.now())
        await self._send_until_answered(lambda app: app.schedules.pause(SCHEDULE))
        paused.acknowledged_at = journal.now()
        await self._send_until_answered(save_screens)
        for queue in QUEUES:
            change = journal.paused[queue].record_sent(None, journal.now())
            await self._send_until_answered(partial(_resume, queue))
            change.acknowledged_at = journal.now()
        store = self.database.store()
        await store.open()
        deadline = self.loop.time() + REST_SECONDS
        empty = 0  # twice in a row, so that inputs left in the inbox are admitted by then
        while self.loop.time() < deadline and empty < 2:
            empty = 0 if any((await store.counts()).values()) else empty + 1
            await asyncio.sleep(_LOOK_SECONDS)
        firings = [
            (firing.fire_at.timestamp(), firing.job)
            for firing in await store.firings(SCHEDULE, limit=1000)
        ]
        known = [*journal.submissions, *(job for _, job in firings if job is not None)]
        views = await store.jobs(known)  # type: ignore[arg-type]
        self._judge(views={str(id): view for id, view in views.items()}, firings=firings)
        await store.close()

    async def _send_until_answered(self, call: Callable[[Any], Any]) -> None:
        """Execute a call after the faults, in any process that answers."""
        for number in range(100):
            host = self.hosts[number % len(self.hosts)]
            if host.up and host.process.alive:
                try:
                    async with asyncio.timeout(30):
                        await call(host.app)
                except (FairlaneError, TimeoutError):
                    pass
                else:
                    return
            await asyncio.sleep(1.0)
        self.journal.violate("progress", "no process answers after the faults")

    async def _committed(self, host: Host, store: FaultyStore) -> None:
        """Compare memory with the store right after some commits, as a new leader would load it."""
        if host.up and store is host.stores[-1] and self._dice.random() < _MEMORY_CHECKS:
            leader, image = host.engine.leader, await store.real.read_image()
            if not leader.is_ahead:
                check_memory(self.journal, leader.scheduler, image, self.wall.now())

    def _judge(self, *, views: Any, firings: list[tuple[float, Any]]) -> None:
        journal = self.journal
        reported = check_changes(journal)
        check_ends(journal, views, reported)
        check_order(journal)
        check_moves(journal)
        check_rates(journal)
        check_stalls(journal, views)
        check_keys(journal)
        check_refusals(journal)
        check_firings(journal, firings, views)
        if journal.running:
            journal.violate("progress", f"{len(journal.running)} bodies never ended")

    def run(self, story: Callable[["World"], Any]) -> Verdict:
        """Run a story, settle the world and return the verdict."""
        with _seeded_randomness(self.seed, self.wall), _without_logs(), _without_threads():
            asyncio.set_event_loop(None)
            try:
                self.loop.run_until_complete(self._run_and_settle(story))
            except Standstill as error:
                self.journal.violate("progress", str(error))
            finally:
                self._end_killed_tasks()
                self.database.close()
        return self._verdict()

    async def _run_and_settle(self, story: Callable[["World"], Any]) -> None:
        await story(self)
        await self.settle()

    def _end_killed_tasks(self) -> None:
        """End every task, including those of killed processes, without recording entries."""
        self.journal.closed = True
        for host in self.hosts:
            for store in host.stores:
                store.over = True
        for _ in range(20):
            tasks = asyncio.all_tasks(self.loop)
            if not tasks:
                break
            for host in self.hosts:
                self.loop.end_killed_tasks(host.processes)
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=100.0))
        self.loop.close()

    def _verdict(self) -> Verdict:
        journal = self.journal
        faults = Counter(getattr(self.faults, "counts", {}))
        # Errors and kills at a call are counted by the store faults.
        others = ("error", "kill at", "thaw", "start failed")
        faults.update(what for _, what, _ in journal.faults if not what.startswith(others))
        for host in self.hosts:
            for inbox in host.inboxes:
                faults.update(inbox.counts)
        return Verdict(
            seed=self.seed, store=self.store, violations=journal.violations,
            seconds=self.loop.time(), jobs=len(journal.submissions), runs=len(journal.runs),
            faults=dict(+faults), checks=journal.checks, digest=self._digest(),
        )  # fmt: skip

    def _digest(self) -> str:
        """Return a digest by which two runs of one seed can be compared."""
        text = repr([(r.job, r.process, r.began_at, r.ended_at, r.how) for r in self.journal.runs])
        text += repr(sorted(self.journal.events.items()))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


async def _save_screens(host: Host) -> None:
    """Store the devices of the world; without an answer the next process stores them."""
    with suppress(FairlaneError):
        await save_screens(host.app)  # type: ignore[arg-type]


def _resume(queue: str, app: Any) -> Any:
    return app.queues.resume(queue)


async def random_story(world: World) -> None:
    """Run several processes with users and faults for up to a few minutes."""
    random = world.random
    intervals = random.choice((QUICK, SLOW))
    lost = random.choice((0.0, 0.05, 0.3))
    if lost == 0.0 and isinstance(world.database, SharedInMemory):
        world.database.deliver_notifications()
    pause = random.choice((0.4, 1.2, 4.0))
    users = random.randint(1, 3)
    for name in "ABC"[: random.randint(1, 3)]:
        world.add_host(name, lost=lost, intervals=intervals, slots=random.choice((2, 8, 256)))

    async def run_users(host: Host) -> None:
        """Run the users of a process, and a follower of its events."""
        user_tasks = [
            RandomUser(host, world.journal, world.wall, Random(random.random()), pause=pause)
            for _ in range(users)
        ]
        host.user_tasks = [asyncio.create_task(user.run()) for user in user_tasks]
        host.user_tasks.append(asyncio.create_task(_save_screens(host)))
        await world.follow(host)

    for host in world.hosts:
        host.start(run_users)
    process_faults = ProcessFaults(
        world.hosts, world.wall, world.journal, Random(random.random()), run_users
    )
    length = random.choice((15.0, 40.0, 120.0))
    await process_faults.inject(length)
    world.stop_faults()
    await process_faults.repair()
    for host in world.hosts:
        host.stop_users()


def store_kind_of(seed: int) -> StoreKind:
    """Return the store of a world: a tenth use a SQLite file, a third the shared store."""
    if seed % 10 == 0:
        return "sqlite"
    return "shared" if seed % 3 == 1 else "memory"


def simulate(
    seed: int, store: StoreKind | None = None, *, report: Callable[[str], None] | None = None
) -> Verdict:
    """Run the world of a seed, on its default store if none is given; `report` receives the journal
    lines."""
    world = World(seed, store_kind_of(seed) if store is None else store)
    if report is not None:
        world.journal.report = report
    return world.run(random_story)


@contextmanager
def _seeded_randomness(seed: int, wall: WallClock) -> Iterator[None]:
    """Derive ids and jitter from the seed, so that a world can be replayed."""
    source = Random(seed)
    was = ids.time_ns, ids.random_bytes
    ids.time_ns = lambda: int(wall.now() * 1e9)
    ids.random_bytes = source.randbytes
    ids.reset_time()
    chance.seed(seed)
    try:
        yield
    finally:
        ids.time_ns, ids.random_bytes = was
        ids.reset_time()


class _InlinePool(Executor):
    """Runs each function at once: a world has no threads."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            done.set_exception(error)
        return done


@contextmanager
def _without_threads() -> Iterator[None]:
    was, threads._pool = threads._pool, cast("Any", _InlinePool())
    try:
        yield
    finally:
        threads._pool = was


@contextmanager
def _without_logs() -> Iterator[None]:
    """Disable the log of Fairlane, because faults cause many expected warnings."""
    log = logging.getLogger("fairlane")
    was, log.disabled = log.level, True
    log.setLevel(logging.CRITICAL + 1)
    gc.disable()  # killed tasks are collected together at the end
    try:
        yield
    finally:
        log.setLevel(was)
        log.disabled = False
        gc.enable()

"""The program that every process of a world runs: queues, limits, a schedule, and tasks.

The bodies of the tasks follow the plan of their submitter and record in the journal that they ran.
"""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from fairlane import Context, Device, Fairlane, Retry
from fairlane.errors import Permanent, Retryable

if TYPE_CHECKING:
    from simulation.clock import WallClock
    from simulation.journal import Journal, Run

STARVATION_PICKS: Final = 3
GRACE_SECONDS: Final = 20.0
SCREENS: Final = ("screen-1", "screen-2")


def is_screen_down(screen: str, at: float) -> bool:
    return (at + 15 * SCREENS.index(screen)) % 60 < 4


class Screen(Device):
    """A device that goes down for some seconds now and then; a check notices it."""

    check_seconds = 2.0

    async def connect(self) -> None:
        self._answer()

    async def check(self) -> None:
        self._answer()

    async def prepare(self, ctx: Any, params: Mapping[str, Any]) -> None:
        await asyncio.sleep(0)  # no longer: two bodies must begin in the order of their starts

    async def cleanup(self, ctx: Any, params: Mapping[str, Any]) -> None:
        await asyncio.sleep(0.05)

    async def close(self) -> None:
        pass

    def _answer(self) -> None:
        if is_screen_down(self.name, asyncio.get_running_loop().time()):
            raise ConnectionError("the screen does not answer")


QUEUES: Final[dict[str, dict[str, Any]]] = {
    "line": {"max_concurrent": 3, "starvation_picks": STARVATION_PICKS},
    "lanes": {},
    "single": {"on_conflict": "reject"},
    "merged": {"on_conflict": "merge"},
    "rounds": {"order": "round_robin", "max_concurrent": 2},
    "strict": {"order": "strict", "max_concurrent": 2},
    "screens": {"order": "strict", "devices": Screen},
}
STRICT_QUEUES: Final = ("strict", "screens")
LIMITS: Final = {"api": (3, 3.0)}
RESOURCES: Final = {"gpu": 2}
LANES: Final = ("a", "b", "c")
KEYS: Final = ("k1", "k2")
SCHEDULE: Final = "tick"
OUTPUT: Final = "/fairlane-simulation/{key}"  # declared only; no task writes it


class Kind(Struct, frozen=True, eq=False):
    """One task of the program, with its scheduling options."""

    name: str
    queue: str
    has_lane: bool = False
    has_key: bool = False
    limits: tuple[str, ...] = ()
    uses: tuple[tuple[str, int], ...] = ()
    hold_lane: bool = True
    timeout_seconds: float | None = None
    stall_seconds: float | None = None
    retries: int = 2
    writes: bool = False  # declares an output, which jobs with the same key share
    is_checked: bool = False  # has a precondition, which holds at some times only

    @property
    def on_device(self) -> bool:
        return self.queue == "screens"

    @property
    def has_stages(self) -> bool:
        return self.name in ("staged", "patient")


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("plain", "line"),
        Kind("limited", "line", limits=("api",)),
        Kind("unique", "line", has_key=True),
        Kind("timed", "line", timeout_seconds=4.0),
        Kind("laned", "lanes", has_lane=True),
        Kind("passing", "lanes", has_lane=True, hold_lane=False),
        Kind("drawing", "lanes", uses=(("gpu", 1),)),
        Kind("staged", "lanes", has_lane=True),
        Kind("patient", "lanes", stall_seconds=2.0, retries=0),
        Kind("single", "single", has_lane=True),
        Kind("merged", "merged", has_lane=True),
        Kind("turning", "rounds", has_lane=True),
        Kind("strict", "strict"),
        Kind("checked", "strict", is_checked=True),
        Kind("writing", "lanes", writes=True),
        Kind("showing", "screens"),
        Kind("tick", "lanes"),
    )
}


class Plan(Struct):
    """The duration and ending of each attempt of a job."""

    seconds: list[float]
    ends: list[str]  # ok, again, final, hang, stubborn

    def of(self, attempt: int) -> tuple[float, str]:
        number = min(attempt, len(self.ends)) - 1
        return self.seconds[number], self.ends[number]


class ProcessContext(Struct):
    """The parts of the world that task bodies of one process use."""

    process: str
    journal: "Journal"
    wall: "WallClock"


process_context: ContextVar[ProcessContext] = ContextVar("surroundings")


def _program() -> Fairlane:
    """Declare the program once for all processes of all worlds, because type checks take time."""
    app = Fairlane("memory://")
    for name, settings in QUEUES.items():
        app.queue(name, **settings)
    for key, (starts, per_seconds) in LIMITS.items():
        app.limit(key, starts=starts, per_seconds=per_seconds)
    for name, amount in RESOURCES.items():
        app.resource(name, amount)

    for kind in KINDS.values():
        app.task(
            name=kind.name,
            queue=kind.queue,
            lane="{lane}" if kind.has_lane else None,
            dedupe="{key}" if kind.has_key else None,
            limits=list(kind.limits),
            uses=dict(kind.uses),
            hold_lane=kind.hold_lane,
            timeout_seconds=kind.timeout_seconds,
            stall_seconds=kind.stall_seconds,
            outputs=[OUTPUT] if kind.writes else [],
            on_output="overwrite",
            preconditions=[closed_now] if kind.is_checked else [],
            retry=Retry(times=kind.retries, first_seconds=2.0, factor=2.0),
            grace_seconds=1.0,
        )(work)
    ticking = app.tasks["tick"].call(lane="-", key="-", seconds=[1.5], ends=["ok"])
    app.schedule(SCHEDULE, ticking, cron="* * * * *", grace_seconds=GRACE_SECONDS)
    return app


def declare(app: Fairlane) -> None:
    """Give an app the declarations of the program."""
    app.tasks.update(PROGRAM.tasks)
    ours, declared = app._declarations, PROGRAM._declarations
    ours.definitions, ours.settings = declared.definitions, declared.settings
    ours.schedules, ours.drivers = declared.schedules, declared.drivers


async def save_screens(app: Fairlane) -> None:
    for name in SCREENS:
        await app.devices.save(name, queue="screens")


def closed_now(values: Mapping[str, Any]) -> str | None:
    """Refuse every second job at some times, so that the head of a strict queue is blocked."""
    is_open = round(values["seconds"][0] * 1000) % 2 or asyncio.get_running_loop().time() % 7 > 3
    return None if is_open else "closed for three seconds"


async def work(
    ctx: Context, lane: str, key: str, seconds: list[float], ends: list[str]
) -> list[int]:
    """Run as planned; `lane` and `key` are read by the scheduler only."""
    here, job = process_context.get(), ctx.job
    journal = here.journal
    run = journal.begin(
        process=here.process, job=job.id, task=job.task, queue=job.queue, lane=job.lane,
        attempt=ctx.attempt, wall_at=here.wall.reached(),
        device=ctx.device.name if KINDS[job.task].on_device else None,
    )  # fmt: skip
    how: Any = "stopped"
    try:
        if job.task == "staged":
            await _stages(ctx, journal, run)
        if job.task == "patient":
            await _wait_for_gpu(ctx, journal, run)
        length, how_planned = Plan(seconds, ends).of(ctx.attempt)
        await _pass(length, how_planned)
        how = "ok" if how_planned == "stubborn" else how_planned
        if how == "again":
            raise Retryable("planned to fail, and to be tried again")
        if how == "final":
            raise Permanent("planned to fail for good")
        return [run.number]
    finally:
        journal.finish(run, how)


async def _stages(ctx: Context, journal: "Journal", run: "Run") -> None:
    """Run two stages: a completed stage is not run again; one with limits reserves them for each
    try, and holds its resource until its fallback has ended."""

    async def first() -> int:
        journal.stage_ran(run)
        await asyncio.sleep(0.3)
        return run.number

    journal.stage_gave(run, await ctx.stage("first").run(first))

    with ExitStack() as held:  # from the first try of the second stage until it has ended

        async def second() -> None:
            journal.count_start("api", run)
            if not run.holds:
                run.holds = True
                held.enter_context(journal.using("gpu", 1, run))
            await asyncio.sleep(0.5)
            if run.number % 3 == 0:
                raise Retryable("the second stage is planned to fall back")
            held.close()

        async def instead() -> None:
            await asyncio.sleep(0.5)
            held.close()

        retry = Retry(times=run.number % 2, first_seconds=0.5)
        await ctx.stage("second").run(
            second, limits=["api"], uses={"gpu": 1}, retry=retry, fallback=instead
        )


async def _wait_for_gpu(ctx: Context, journal: "Journal", run: "Run") -> None:
    """Run a stage that may wait for longer than the task may be without progress."""

    async def draw() -> None:
        journal.stage_waits(run, False)
        with journal.using("gpu", 1, run):
            await asyncio.sleep(0.5)

    journal.stage_waits(run, True)
    await ctx.stage("drawing").run(draw, uses={"gpu": 1})
    journal.stage_waits(run, False)


async def _pass(seconds: float, how: str) -> None:
    if how == "hang":
        seconds = 1e6
    if how != "stubborn":
        await asyncio.sleep(seconds)
        return
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while (left := until - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue  # it ignores cancellation


PROGRAM: Final = _program()

"""A world with a power cut: Fairlane under load on an unsynced disk, in a process that the cut
ends.

The journal of a world is on another disk that never fails. Its lines are in the order of the
events, because only one process at a time writes it.
"""

import asyncio
import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import apsw

from chaos.journal import Journal
from chaos.unsynced_disk import Loss, UnsyncedDisk, UnsyncedVFS
from fairlane import Context, Fairlane, FairlaneError
from fairlane.core.inputs import Submit
from fairlane.ids import new_id
from fairlane.leader.command_calls import CommandCalls
from fairlane.leader.inbox import Inbox
from fairlane.runtime.clock import SystemClock
from fairlane.store.sqlite import SQLiteStore, connection, store
from fairlane.tasks import Call

DATABASE: Final = "work.db"
LANES: Final = 5
CUT: Final = 7  # the exit code of a process at the power cut
IDLE_SECONDS: Final = 1.5  # a cut happens after this time even if its step is not reached

# The kind of steps among which a cut is drawn, the highest step, and the weight of the choice.
_STEPS: Final = {
    ("", 150): 25, ("", 1_000): 30, ("", 3_000): 10,
    ("sync", 100): 15, ("database", 150): 12, ("deletion", 2): 8,
}  # fmt: skip

Synchronous = Literal["NORMAL", "OFF"]


@dataclass(frozen=True)
class Plan:
    """The parameters of one world, all drawn from its seed."""

    seed: str
    cut_at: int | None  # the step of the disk; None: the world drains and stops
    among: str  # which steps are counted
    loss: Loss
    checkpoint_pages: int | None
    bulk: bool
    synchronous: Synchronous | None

    @staticmethod
    def drawn(seed: str, *, synchronous: Synchronous | None, last: bool) -> "Plan":
        rng = random.Random(seed)
        # Opening recovers, checkpoints and deletes the log, which deserves as many cuts as the
        # load. Most steps of the load are writes to the log, so the other steps have a separate
        # share.
        among, furthest = rng.choices(list(_STEPS), list(_STEPS.values()))[0]
        return Plan(
            seed=seed,
            cut_at=None if last else rng.randint(1, furthest),
            among=among,
            loss=rng.choices(("all", "some", "nothing"), [4, 5, 1])[0],
            checkpoint_pages=rng.choice([20, 100, None]),
            bulk=rng.random() < 0.3,
            synchronous=synchronous,
        )


class World:
    def __init__(self, folder: Path, journal: Path, plan: Plan) -> None:
        self._folder = folder
        self._journal = Journal(journal)
        self._plan = plan
        self._rng = random.Random(plan.seed)
        self._cut_rng = random.Random(f"{plan.seed}/cut")
        self._disk = UnsyncedDisk(folder)
        self._app = Fairlane(f"sqlite:///{folder / DATABASE}", slots=8, stop_grace_seconds=0)
        self._app.queue("lanes", max_concurrent=4)
        self._app.queue("held")
        self._number = 0
        self._noting = threading.Lock()

        @self._app.task(queue="lanes", lane="{lane}", recover=10_000)
        async def steady(ctx: Context, lane: str, pad: str = "") -> str:
            self._note("begin", job=ctx.job.id, attempt=ctx.attempt, lane=lane)
            try:
                await asyncio.sleep(0)
            finally:
                self._note("end", job=ctx.job.id, attempt=ctx.attempt, lane=lane)
            return pad

        self._steady = steady

    def _note(self, what: str, **facts: Any) -> None:
        with self._noting:
            self._journal.note(what, **facts)

    def run(self, next_folder: Path) -> None:
        """Run until the cut, which writes the surviving disk to the next folder and ends this
        process."""
        self._tune()
        disk = UnsyncedVFS(self._disk)

        def cut(where: str) -> None:
            self._noting.acquire()  # never released: no entry may follow the cut
            self._journal.note("cut", text=where, key=self._plan.loss)
            self._disk.write_disk_after_cut(next_folder, self._cut_rng, self._plan.loss)
            os._exit(CUT)

        if self._plan.cut_at is not None:
            self._disk.cut_at(self._plan.cut_at, self._plan.among, cut)
        asyncio.run(self._live(cut))
        del disk

    def _tune(self) -> None:
        """Checkpoint more often than Fairlane would, and sync less if the plan says so.

        Fairlane's own choice to sync is under test, so it is unchanged by default.
        """
        plan, connect = self._plan, connection.connect

        def tuned(*args: Any, **named: Any) -> apsw.Connection:
            connection = connect(*args, **named)
            if plan.checkpoint_pages is not None:
                connection.pragma("wal_autocheckpoint", plan.checkpoint_pages)
            if plan.synchronous is not None:
                connection.pragma("synchronous", plan.synchronous)
            return connection

        vars(store)["connect"] = tuned  # only this process is affected, and it ends soon

    async def _live(self, cut: Callable[[str], None]) -> None:
        async with self._app:
            if self._plan.cut_at is None:
                await self._app.queues.resume("held")
                await self._app.drain()
                return
            async with asyncio.TaskGroup() as group:
                for _ in range(4):
                    group.create_task(self._submits())
                group.create_task(self._operates())
                group.create_task(self._appends())
                group.create_task(self._checkpoints())
                await asyncio.sleep(IDLE_SECONDS)
                cut("when the load was over")

    def _call(self) -> tuple[str, Call[Any]]:
        rng = self._rng
        self._number += 1
        id = f"{self._plan.seed.replace('/', '-')}-{self._number}"
        lane = f"lane-{rng.randrange(LANES)}"
        pad = "x" * rng.choice([0, 100, 6_000, 20_000]) if self._plan.bulk else ""
        self._note("asked", job=id, lane=lane)
        return id, self._steady.options(id=id).call(lane, pad)

    async def _submits(self) -> None:
        while True:
            asked = [self._call() for _ in range(self._rng.choice([1, 1, 1, 4, 10]))]
            jobs = await self._app.submit_many([call for _, call in asked])
            for id, _ in asked:
                self._note("acked", job=id)
            draw = self._rng.random()
            if draw < 0.3:
                view = await self._app.jobs.wait(jobs[0].id)
                self._note("seen ended", job=jobs[0].id, key=view.state)
            elif draw < 0.5:
                await self._cancel(jobs[-1].id)
            await asyncio.sleep(0)

    async def _cancel(self, job: str) -> None:
        self._note("cancelling", job=job)
        try:
            answer = await self._app.jobs.handle(job).cancel()
        except FairlaneError:
            return
        if answer["state"] == "cancelled":
            self._note("seen ended", job=job, key="cancelled")

    async def _operates(self) -> None:
        """Pause, resume and limit a queue in turn."""
        while True:
            paused = self._rng.random() < 0.5
            self._note("commanding", key="paused", value=int(paused))
            await (self._app.queues.pause("held") if paused else self._app.queues.resume("held"))
            self._note("commanded", key="paused", value=int(paused))
            most = self._rng.randrange(1, 9)
            self._note("commanding", key="max_concurrent", value=most)
            await self._app.queues.set("held", max_concurrent=most)
            self._note("commanded", key="max_concurrent", value=most)
            await asyncio.sleep(self._rng.uniform(0, 0.01))

    async def _appends(self) -> None:
        """Submit through the inbox, as another process would."""
        appending = SQLiteStore(self._folder / DATABASE)
        await appending.open()
        calls = CommandCalls(appending, Inbox(), SystemClock())
        while True:
            id, call = self._call()
            await calls.call(Submit(new_id(), [call.submission()]))
            self._note("acked", job=id)

    async def _checkpoints(self) -> None:
        """Checkpoint from a separate connection at times, as a backup program might."""
        connection = apsw.Connection(str(self._folder / DATABASE))
        while True:
            await asyncio.sleep(self._rng.uniform(0.01, 0.1))
            await asyncio.to_thread(connection.execute, "PRAGMA wal_checkpoint(PASSIVE)")

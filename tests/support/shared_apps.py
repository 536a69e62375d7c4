"""Apps in one process that stand for several on one database."""

import asyncio
from typing import Any, Final

from pydantic import SecretStr

from fairlane import Context, Fairlane
from fairlane.client.job import Job
from fairlane.cluster.lease_renewal import LeaseTimes
from fairlane.engine.engine import Engine
from fairlane.runtime.poll_intervals import PollIntervals
from fairlane.store.memory.shared import SharedDatabase, SharedMemoryStore
from fairlane.store.protocol import Store

QUICK: Final = LeaseTimes(
    lease_seconds=1.0,
    renew_seconds=0.1,
    standby_seconds=0.1,
    return_seconds=0.6,
    end_seconds=0.8,
    margin_seconds=0.2,
)
RHYTHM: Final = PollIntervals(poll_seconds=0.02, standby_seconds=0.05, answer_seconds=0.02)


class SharedApp(Fairlane):
    """A process called `name`; its jobs say where they ran, and some are held at a gate."""

    def __init__(self, database: SharedDatabase, name: str, **options: Any) -> None:
        super().__init__("memory://", **{"slots": 4, "stop_grace_seconds": 0.0, **options})
        self.shared_database = database
        self.name = name
        self.gate = asyncio.Event()
        self.held: list[str] = []
        self.times = QUICK
        self.limit("api", starts=1000, per_seconds=60)

        @self.task(name="quick")
        async def quick() -> str:
            return self.name

        @self.task(name="hold", grace_seconds=0.1)
        async def hold(ctx: Context) -> str:
            self.held.append(ctx.job.id)
            await self.gate.wait()
            return self.name

        @self.task(name="secret")
        async def secret(token: SecretStr) -> str:
            return f"{self.name}: {token.get_secret_value()}"

        @self.task(name="staged")
        async def staged(ctx: Context) -> str:
            async def first() -> str:
                return self.name

            return str(await ctx.stage("first").run(first, limits=["api"]))

    def _new_store(self) -> Store:
        return SharedMemoryStore(self.shared_database)

    def _new_engine(self, store: Store, **more: Any) -> Engine:
        return super()._new_engine(store, intervals=RHYTHM, times=self.times, **more)

    @property
    def is_leading(self) -> bool:
        return self._engine.calls.leading

    @property
    def worker_id(self) -> str:
        return self._engine.worker.id

    async def run(self, task: str, *, lane: str | None = None) -> Job[Any]:
        return await self.submit(self.tasks[task].options(lane=lane).call())

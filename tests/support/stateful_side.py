"""One of two apps that receive the same commands, and all that it shows."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from fairlane import FairlaneError, Job
from fairlane.store.views import EventView
from fairlane.tasks import Call
from fairlane.testing import FakeClock
from tests.support.stateful_app import Gate, StoryApp
from tests.support.stateful_disks import Disk
from tests.support.stateful_wishes import KEYS, LANES, QUEUES, Wish

SETTLED_SECONDS: Final = 30.0
OUR_IDS: Final = "job-"


class Side:
    """One app in one story. Random ids are replaced by stable names."""

    def __init__(self, app: StoryApp, disk: Disk) -> None:
        self.app = app
        self.clock = app._commands.clock = FakeClock()
        app.disk = disk
        self._names: dict[str, str] = {}  # by random id
        self._seen = 0
        self._opened = 0

    @property
    def gate(self) -> Gate:
        return self.app.gate

    # start and stop

    async def open(self) -> None:
        self._opened += 1
        self.app.gate = Gate()
        await self.app.__aenter__()
        self._names[self.app._engine.worker.id] = f"worker {self._opened}"

    async def close(self) -> None:
        self.gate.close()
        await self.app.__aexit__(None)

    async def crash(self) -> None:
        """Continue with the data that is on disk at this moment."""
        found = self.app.disk.copied()
        await self.close()
        self.app.disk = found
        await self.open()

    async def settled(self) -> None:
        """Return once every running body waits at the gate and all inputs are decided."""
        engine = self.app._engine
        async with asyncio.timeout(SETTLED_SECONDS):
            await engine.settled()
            while (
                engine.worker.running != len(self.gate.waiting)
                or engine.worker.unacknowledged_inputs()
            ):
                await asyncio.sleep(0)
                await engine.settled()

    # commands

    def calls(self, wishes: tuple[Wish, ...]) -> list[Call[Any]]:
        return [self._call(wish) for wish in wishes]

    def _call(self, wish: Wish) -> Call[Any]:
        run_at = None
        if wish.wait_seconds is not None:
            run_at = datetime.fromtimestamp(self.clock.now() + wish.wait_seconds, UTC)
        return self.app.tasks[wish.task].options(
            id=self.real(wish.id), queue=wish.queue, lane=wish.lane, priority=wish.priority,
            dedupe=wish.dedupe, run_at=run_at, depends_on=[self.real(id) for id in wish.depends_on],
            run_anyway=wish.run_anyway, kind=wish.kind,
        ).call(wish.text)  # fmt: skip

    def job(self, id: str) -> Job[Any]:
        return self.app.jobs.handle(self.real(id))

    def real(self, id: str) -> str:
        return next((real for real, name in self._names.items() if name == id), id)

    def call_it(self, job: Job[Any] | None, name: str) -> None:
        """Give a job with a random id a name that both sides share."""
        if job is not None and not job.id.startswith(OUR_IDS):
            self._names.setdefault(job.id, name)  # it has one if it was merged into another

    async def answer(self, doing: Awaitable[Any]) -> Any:
        """Return the answer to a command, or its complete error."""
        try:
            answer = await doing
        except FairlaneError as error:
            answer = error.as_problem()
        if isinstance(answer, Job):
            answer = [answer]
        if isinstance(answer, list):
            answer = [(job.id, job.merged) for job in answer]
        return self._renamed(answer)

    # views

    async def shown(self) -> dict[str, Any]:
        """Return all views of the app, and each event since the last call."""
        store = self.app._engine.store
        picture = await store.read_snapshot(waiting=1000, ended=1000)
        events = await store.events(self._seen, 10_000)
        self._seen = picture.seq
        live = [job.id for jobs in (picture.running, *picture.waiting.values()) for job in jobs]
        parts = {name: getattr(picture, name) for name in picture.__struct_fields__}
        shown: dict[str, Any] = self._renamed({
            **parts,
            "records": {f"{kind} {name}": text for (kind, name), text in picture.records.items()},
            "events": _joins_last(events or []),
            "bodies": sorted(self.gate.waiting),
            "explained": await asyncio.gather(*(self.app.jobs.explain(id) for id in sorted(live))),
            "jobs": await store.jobs([*live, *(job.id for job in picture.ended)]),
            "history": [[job.id for job in page] for page in await self._pages()],
            "failures": (await self.app.jobs.history(states=["failed", "cancelled"])).items,
            "firings": await self.app.schedules.firings("by hand"),
            "forecast": await self.app.queues.forecast("main", max_concurrent=2),
            "asked": await self._asked(),
            "image": _image_shown(await store.read_image()),
        })  # fmt: skip
        return shown

    async def _asked(self) -> list[str]:
        """Return the dedupe keys that wait and the lanes that run."""
        pairs = [(queue, lane) for queue in QUEUES for lane in LANES]
        answers = await asyncio.gather(
            *(self.app.jobs.is_queued(key) for key in KEYS),
            *(self.app.lanes.is_running(*pair) for pair in pairs),
        )
        names = [*KEYS, *("/".join(pair) for pair in pairs)]
        return [name for name, answer in zip(names, answers, strict=True) if answer]

    async def _pages(self) -> list[list[Any]]:
        pages, cursor = [], None
        while True:
            page = await self.app.jobs.history(limit=3, cursor=cursor)
            pages.append(list(page.items))
            cursor = page.next
            if cursor is None:
                return pages

    def _renamed(self, value: Any) -> Any:
        text = msgspec.json.encode(value).decode()
        for real, name in self._names.items():
            text = text.replace(real, name)
        return msgspec.json.decode(text)


def _image_shown(image: Any) -> dict[str, Any]:
    """Return the state that a leader would load, without the records, which are shown already."""
    return {
        "jobs": list(image.jobs),
        "dependencies": sorted(image.dependencies),
        "rate_starts": image.rate_starts,
        "grants": sorted(image.grants),
    }


def difference(memory: Any, sqlite: Any, where: str = "") -> str:
    """Return the first difference between two views, which are too long to print."""
    if isinstance(memory, dict) and isinstance(sqlite, dict) and memory.keys() == sqlite.keys():
        pairs = [(name, memory[name], sqlite[name]) for name in memory]
    elif isinstance(memory, list) and isinstance(sqlite, list) and len(memory) == len(sqlite):
        pairs = [(str(i), memory[i], sqlite[i]) for i in range(len(memory))]
    else:
        return f"at {where or 'the top'} memory shows {memory!r} and SQLite {sqlite!r}"
    name, one, other = next(pair for pair in pairs if pair[1] != pair[2])
    return difference(one, other, f"{where}/{name}")


def _joins_last(events: list[EventView]) -> list[EventView]:
    """Move the joins of workers to the end: a new leader may decide them in a later batch."""
    ordered = sorted(events, key=lambda event: event.type == "worker_changed")
    return [
        msgspec.structs.replace(event, seq=place.seq)
        for event, place in zip(ordered, events, strict=True)
    ]

"""Follow jobs from a terminal until they have ended.

If another process leads on the database (a server, or another terminal), that process does the work
and this one only follows; if the leader ends, this process takes over.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from msgspec import Struct

from fairlane import Conflict, EventView, Fairlane, Job, JobView

Heard = Callable[[EventView, JobView | None], None]
Ended = Callable[[JobView], None]
Stopping = Callable[[list[str]], None]

_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Followed(Struct):
    views: list[JobView]
    interrupted: bool


async def follow(
    app: Fairlane,
    jobs: Sequence[Job[Any]],
    *,
    after: int,
    heard: Heard,
    ended: Ended,
    theirs: Collection[str] = (),
    stopping_them: Stopping = lambda _: None,
) -> Followed:
    """Return once all of these jobs have ended; Ctrl-C cancels the remaining ones.

    Jobs in `theirs`, which another session had submitted before, continue after a Ctrl-C.
    `stopping_them` is called with the jobs that are about to be cancelled, before the first cancel.
    SIGHUP and SIGTERM act as Ctrl-C.
    """
    ids = list(dict.fromkeys(job.id for job in jobs))
    ours = {job.id for job in jobs if not job.merged and job.id not in theirs}
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    # `nohup` ignores SIGHUP, and that stays so.
    numbers = [number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, stop.set)
    looking = asyncio.create_task(_forward_events(app, set(ids), after, heard))
    waiting = {id: asyncio.create_task(_ended(app, id, ended)) for id in ids}
    stopping = asyncio.create_task(stop.wait())
    everything = asyncio.create_task(
        asyncio.wait(waiting.values(), return_when=asyncio.FIRST_EXCEPTION)
    )
    try:
        await asyncio.wait([everything, stopping], return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():
            stopping_them([id for id in ids if id in ours and not waiting[id].done()])
            # From the last one, so that no job starts that is about to be cancelled.
            for id in reversed(ids):
                if id in ours:
                    with contextlib.suppress(Conflict):  # the job has ended
                        await app.jobs.handle(id).cancel()
                else:
                    waiting[id].cancel()
        views = [
            await (app.jobs.show(id) if waiting[id].cancelling() else waiting[id]) for id in ids
        ]
        return Followed(views, stop.is_set())
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
        begun = (looking, stopping, everything, *waiting.values())
        for task in begun:
            task.cancel()
        for failure in await asyncio.gather(*begun, return_exceptions=True):
            if isinstance(failure, Exception):
                raise failure


async def _ended(app: Fairlane, id: str, ended: Ended) -> JobView:
    view = await app.jobs.wait(id)
    ended(view)
    return view


async def _forward_events(app: Fairlane, ids: set[str], after: int, heard: Heard) -> None:
    views: dict[str, JobView] = {}
    async for event in app.events.follow(after=after, queue="compress"):
        if event.job in ids and event.job is not None:
            if event.job not in views or event.data.get("state") == "blocked":
                views[event.job] = await app.jobs.show(event.job)
            heard(event, views[event.job])

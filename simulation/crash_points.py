"""Run one scenario again and again, with a kill at each call to the store in turn.

A scenario is a script of steps of one user. When the process dies during a step, it is restarted
and the step is repeated, because the user received no answer. After the script, the world settles
and all rules are checked.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from simulation.databases import StoreKind
from simulation.host import Host
from simulation.poll_intervals import SLOW
from simulation.recording_client import RecordingClient
from simulation.script import Script, Steps
from simulation.store_faults import KillAt, Moment
from simulation.world import Verdict, World

_RESTART_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 300.0


def crash(
    script: Steps, number: int, moment: Moment, store: StoreKind
) -> tuple[Verdict, str | None]:
    """Run a script, kill the process that makes call `number`, and return where that was."""
    faults = KillAt(number, moment)
    world = World(0, store, faults)
    verdict = world.run(_story(script))
    return verdict, faults.killed_at


def every_crash(script: Steps, store: StoreKind, moment: Moment) -> Iterator[tuple[str, Verdict]]:
    """Yield the verdict for a kill at the first call, the second, and so on, until the script has
    no more calls."""
    number = 0
    while True:
        number += 1
        verdict, killed_at = crash(script, number, moment, store)
        if killed_at is None:
            return
        yield killed_at, verdict


def _story(steps: Steps) -> Callable[[World], Coroutine[Any, Any, None]]:
    async def story(world: World) -> None:
        script = Script(steps)
        done = asyncio.Event()

        async def run_users(host: Host) -> None:
            if host is world.hosts[0]:
                client = RecordingClient(host, world.journal, world.wall)
                host.user_tasks = [asyncio.create_task(script.play(client, host, world.wall, done))]
            await world.follow(host)

        for name in ("A", "B") if script.needs_two else ("A",):
            world.add_host(name, lost=0.0, intervals=SLOW, slots=8).start(run_users)
        until = world.loop.time() + _LONGEST_SECONDS
        while not done.is_set() and world.loop.time() < until:
            await asyncio.sleep(_RESTART_SECONDS)
            for host in world.hosts:
                if not host.process.alive:
                    host.start(run_users)
        if not done.is_set():
            world.journal.violate("progress", f"the script stopped at {script.position}")
        world.stop_faults()
        for host in world.hosts:
            if not host.process.alive:
                host.start(run_users)
        await asyncio.sleep(_RESTART_SECONDS)

    return story

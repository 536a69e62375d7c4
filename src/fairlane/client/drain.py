"""Waiting until a queue, or every queue, has no job left that could run."""

import asyncio

import msgspec

from fairlane.client.commands import Commands


async def drain(commands: Commands, queue: str | None) -> None:
    """Return when no job runs or will run: all have ended, or their queue stops after current."""
    if queue is not None:
        await commands.check_queue(queue)
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not await is_drained(commands, queue):  # jobs end in other processes too
        # Counting a long queue takes time; at most a sixth of the time is spent on counting.
        await asyncio.sleep(max(0.05, 5 * (loop.time() - began)))
        began = loop.time()


async def is_drained(commands: Commands, queue: str | None) -> bool:
    records = await commands.records("queue")
    for name, counts in (await commands.on_loop(commands.store.counts())).items():
        if queue in (None, name):
            ends = name in records and msgspec.json.decode(records[name]).get("ends_drain")
            busy = {"running", "interrupted"} if ends else set(counts) - {"scheduled"}
            if any(counts.get(state) for state in busy):
                return False
    return True

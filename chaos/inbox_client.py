"""A process that only appends to the inbox: `python -m chaos.inbox_client`.

It has no engine, so it never leads. It keeps running while programs are killed, receives
`undecided` while no process leads, and records acknowledgements.
"""

import asyncio
import os
import random
from typing import Any

from chaos import program
from chaos.program import DATABASE, journal
from fairlane import FairlaneError
from fairlane.core.inputs import Cancel, Submit
from fairlane.core.live_job import JobId
from fairlane.ids import new_id
from fairlane.leader.command_calls import CommandCalls
from fairlane.leader.inbox import Inbox
from fairlane.runtime.clock import SystemClock
from fairlane.store.sqlite import SQLiteStore
from fairlane.tasks import Call


async def main() -> None:
    rng = random.Random(f"{os.environ.get('CHAOS_SEED')}/{program.PROGRAM}")
    store = SQLiteStore(DATABASE)
    while True:
        try:
            await store.open()
            break
        except FairlaneError as error:
            journal.note("unavailable", key=error.code, text=error.message)
            await asyncio.sleep(0.2)
    calls = CommandCalls(store, Inbox(), SystemClock())
    number = 0
    while True:
        number += 1
        await one(calls, f"{program.PROGRAM}-{number}", rng)
        await asyncio.sleep(rng.uniform(0.01, 0.08))


async def one(calls: CommandCalls, id: str, rng: random.Random) -> None:
    """Submit one job, and cancel it sometimes."""
    lane = f"lane-{rng.randrange(8)}"
    call: Call[Any]
    if rng.random() < 0.5:
        call = program.steady.options(id=id).call(lane, 0.01)
    else:
        call = program.in_line.options(id=id).call(0.01)
    submission = call.submission()
    journal.note("asked", job=id, queue=submission.queue, lane=submission.lane)
    try:
        await calls.call(Submit(new_id(), [submission]))
    except FairlaneError as error:
        journal.note("refused", job=id, key=error.code, text=error.message)
        return
    journal.note("acked", job=id)
    if rng.random() < 0.2:
        journal.note("cancelling", job=id)
        try:
            answer = await calls.call(Cancel(new_id(), JobId(id), "keep", False))
        except FairlaneError as error:
            journal.note("not cancelled", job=id, key=error.code, text=error.message)
        else:
            journal.note("cancelled", job=id, key=answer["state"])


if __name__ == "__main__":
    asyncio.run(main())

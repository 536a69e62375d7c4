"""An open transaction of another session: PostgreSQL cannot remove dead rows meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import asyncpg


@asynccontextmanager
async def transaction_held(database: str) -> AsyncIterator[None]:
    connection = await asyncpg.connect(database)
    try:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await connection.execute("SELECT pg_current_xact_id()")
        yield
    finally:
        await connection.close()


@contextmanager
def transaction_open(database: str) -> Iterator[None]:
    """Hold a transaction from code without an event loop."""
    loop = asyncio.new_event_loop()
    held = transaction_held(database)
    loop.run_until_complete(held.__aenter__())
    try:
        yield
    finally:
        loop.run_until_complete(held.__aexit__(None, None, None))
        loop.close()

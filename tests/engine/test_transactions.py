"""Jobs that are submitted inside the caller's own transaction."""

from collections.abc import AsyncIterator

import asyncpg
import psycopg
import pytest

from fairlane import Fairlane, JobSkipped, UsageError


@pytest.fixture
async def app(postgres_dsn: str) -> AsyncIterator[Fairlane]:
    app = Fairlane(postgres_dsn, stop_grace_seconds=0)
    app.queue("single", on_conflict="reject")

    @app.task
    async def double(n: int) -> int:
        return 2 * n

    async with app:
        yield app


async def test_an_asyncpg_transaction_commits_the_job_with_its_other_rows(
    app: Fairlane, postgres_dsn: str
) -> None:
    connection = await asyncpg.connect(postgres_dsn)
    try:
        await connection.execute("CREATE TABLE orders (id int)")
        async with connection.transaction():
            await connection.execute("INSERT INTO orders VALUES (1)")
            [job] = await app.jobs.submit_inside(connection, app.tasks["double"].call(n=4))
            assert job.id not in {found.id for found in (await app.jobs.history()).items}
        assert await job.wait() == 8
    finally:
        await connection.close()


async def test_a_rollback_removes_the_job(app: Fairlane, postgres_dsn: str) -> None:
    connection = await asyncpg.connect(postgres_dsn)
    try:
        transaction = connection.transaction()
        await transaction.start()
        [job] = await app.jobs.submit_inside(connection, app.tasks["double"].call(n=4))
        await transaction.rollback()
        later = await app.submit(app.tasks["double"].call(n=1))
        assert await later.wait() == 2
        assert await app._store.jobs([job.id]) == {}
    finally:
        await connection.close()


async def test_a_job_is_submitted_inside_an_async_psycopg_transaction(
    app: Fairlane, postgres_dsn: str
) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_dsn) as connection:
        jobs = await app.jobs.submit_inside(
            connection, app.tasks["double"].call(n=1), app.tasks["double"].call(n=2)
        )
    assert [await job.wait() for job in jobs] == [2, 4]


def test_a_job_is_submitted_inside_a_sync_psycopg_transaction(postgres_dsn: str) -> None:
    app = Fairlane(postgres_dsn, stop_grace_seconds=0)

    @app.task
    def double(n: int) -> int:
        return 2 * n

    with app:
        with psycopg.connect(postgres_dsn) as connection:
            [job] = app.sync.jobs.submit_inside(connection, double.call(n=21))
        assert job.wait() == 42


async def test_a_job_that_conflicts_with_a_busy_lane_ends_as_skipped(
    app: Fairlane, postgres_dsn: str
) -> None:
    await app.queues.pause("single")
    call = app.tasks["double"].options(queue="single", lane="x").call(n=1)
    holder = await app.submit(call)
    async with await psycopg.AsyncConnection.connect(postgres_dsn) as connection:
        [job] = await app.jobs.submit_inside(connection, call)
    with pytest.raises(JobSkipped) as caught:
        await job.wait()
    assert holder.id in str(caught.value)
    view = await app.jobs.show(job.id)
    assert view.error is not None
    assert view.error.code == "lane_busy"


async def test_unsupported_connections_are_refused_with_the_supported_ones(
    app: Fairlane, postgres_dsn: str
) -> None:
    call = app.tasks["double"].call(n=1)
    with pytest.raises(UsageError, match="a connection of asyncpg or psycopg 3, got str"):
        await app.jobs.submit_inside("connection", call)
    connection = await asyncpg.connect(postgres_dsn)
    try:
        with pytest.raises(UsageError, match="needs a transaction"):
            await app.jobs.submit_inside(connection, call)
        with pytest.raises(UsageError, match=r"await app\.jobs\.submit_inside"):
            app.sync.jobs.submit_inside(connection, call)
    finally:
        await connection.close()
    with pytest.raises(UsageError, match="PostgreSQL"):
        await Fairlane("memory://").jobs.submit_inside(connection, call)


async def test_a_connection_in_autocommit_mode_needs_a_transaction(
    app: Fairlane, postgres_dsn: str
) -> None:
    call = app.tasks["double"].call(n=1)
    connected = psycopg.AsyncConnection.connect(postgres_dsn, autocommit=True)
    async with await connected as connection:
        with pytest.raises(UsageError, match="needs a transaction"):
            await app.jobs.submit_inside(connection, call)
        async with connection.transaction():
            [job] = await app.jobs.submit_inside(connection, call)
    assert await job.wait() == 2

"""`WS /api/ws`: the same messages, one text each."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from fairlane import Context, Fairlane
from tests.support.followers import OPERATE, READ, EventSource, Line, Socket, served


@pytest.fixture
async def app() -> AsyncIterator[Fairlane]:
    app = Fairlane("memory://", stop_grace_seconds=0)

    @app.task(name="work")
    async def work(ctx: Context) -> None:
        ctx.report(downloaded=3)
        ctx.progress(40, "page 2 of 5")

    async with app:
        yield app


async def until(line: Line, url: str, last: int) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    async with aclosing(line.told(url)) as events:
        async for event in events:
            seen.append(event)
            if event["seq"] >= last:
                break
    return seen


def at(url: str) -> str:
    return f"{url.replace('http', 'ws', 1)}/api/ws"


async def test_a_socket_and_an_event_source_are_told_the_same(app: Fairlane) -> None:
    async with served(app) as url:
        begin = await app.events.newest()
        for _ in range(200):
            await app.tasks["work"].submit()
        await app.drain()
        last = await app.events.newest()
        by_socket = await until(Socket(begin), url, last)
        by_source = await until(EventSource(after=begin), url, last)

    assert len(by_socket) > 600
    assert by_socket == by_source


async def test_a_socket_can_be_about_one_job(app: Fairlane) -> None:
    async with served(app) as url:
        begin = await app.events.newest()
        jobs = [await app.tasks["work"].submit() for _ in range(3)]
        await app.drain()
        stored = await app.events.stored(after=begin)
        assert stored is not None
        of_job = [event.seq for event in stored if event.job == jobs[1].id]
        told = await until(Socket(begin, job=jobs[1].id), url, of_job[-1])

    assert [event["seq"] for event in told] == of_job
    assert [event["prev"] for event in told] == [begin, *of_job[:-1]]
    [progress] = [event["data"] for event in told if event["type"] == "job_progress"]
    assert progress["progress"] == {"percent": 40.0, "message": "page 2 of 5"}
    assert progress["statistics"] == {"downloaded": 3}


async def test_a_number_that_never_was_is_answered_by_a_resync(app: Fairlane) -> None:
    async with served(app) as url:
        now = await app.events.newest()
        [event] = await until(Socket(now + 5), url, now)
    assert (event["type"], event["seq"], event["prev"]) == ("resync", now, now + 5)


async def test_what_a_client_says_is_not_listened_to(app: Fairlane) -> None:
    async with served(app) as url, connect(at(url)) as socket:
        for _ in range(100):
            await socket.send("hello?")
        await app.queues.pause("default")
        assert json.loads(await socket.recv())["type"] == "queue_changed"


async def test_a_client_hears_that_the_server_ends(app: Fairlane) -> None:
    async with served(app) as url:
        socket = await connect(at(url))
        await app.queues.pause("default")
        await socket.recv()
    with pytest.raises(ConnectionClosed) as closed:
        await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code in (1001, 1012)


@pytest.mark.parametrize("query", ["?after=-1", "?after=x", "?job=" + "x" * 201])
async def test_what_is_not_a_number_or_a_name_is_refused(app: Fairlane, query: str) -> None:
    async with served(app) as url:
        with pytest.raises(InvalidStatus) as refused:
            await connect(at(url) + query)
    assert refused.value.response.status_code == 403


async def test_only_who_may_read_gets_a_socket(app: Fairlane) -> None:
    async with served(app, token=OPERATE, read_token=READ) as url:
        statuses = []
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Bearer {READ}", "Origin": "http://elsewhere.example"},
        ):
            with pytest.raises(InvalidStatus) as refused:
                await connect(at(url), additional_headers=headers)
            statuses.append(refused.value.response.status_code)
        async with connect(
            at(url), additional_headers={"Authorization": f"Bearer {READ}"}
        ) as socket:
            await app.queues.pause("default")
            told = json.loads(await socket.recv())

    assert statuses == [401, 401, 403]
    assert told["type"] == "queue_changed"

"""`GET /api/events` as browsers and curl meet it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from fairlane import Context, Fairlane
from fairlane.api.event_stream import follower as event_follower
from fairlane.api.event_stream import stream as event_stream
from fairlane.redaction import MASK
from tests.support.eventually import eventually
from tests.support.followers import OPERATE, READ, WITHOUT_TLS, EventSource, served


@pytest.fixture
async def app() -> AsyncIterator[Fairlane]:
    app = Fairlane("memory://", stop_grace_seconds=0)
    app.queue("other")

    @app.task(name="work")
    async def work(ctx: Context) -> None:
        ctx.log("at work")

    async with app:
        yield app


@pytest.fixture
async def url(app: Fairlane) -> AsyncIterator[str]:
    async with served(app) as url:
        yield url


async def until(line: Any, url: str, last: int) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    async with aclosing(line.told(url)) as events:
        async for event in events:
            seen.append(event)
            if event["seq"] >= last:
                break
    return seen


async def test_events_are_the_same_as_in_python(app: Fairlane, url: str) -> None:
    begin = await app.events.newest()
    job = await app.tasks["work"].submit()
    await job.wait()
    stored = await app.events.stored(after=begin)
    assert stored is not None
    told = await until(EventSource(after=begin), url, stored[-1].seq)

    assert {event["type"] for event in told} == {"job_state_changed", "job_log"}
    for event, ours in zip(told, stored, strict=True):
        assert list(event) == ["seq", "prev", "type", "at", "job", "queue", "data"]
        assert (event["seq"], event["prev"]) == (ours.seq, ours.seq - 1)
        assert (event["type"], event["job"], event["queue"]) == (ours.type, ours.job, ours.queue)
        assert event["at"].endswith("Z")
    [line] = [event for event in told if event["type"] == "job_log"]
    assert line["data"]["message"] == "at work"
    assert line["data"]["at"].endswith("Z")


async def test_a_client_is_told_at_once_where_it_stands_and_when_to_come_back(
    app: Fairlane, url: str
) -> None:
    source = EventSource()
    now = await app.events.newest()
    async with aclosing(source.told(url)) as events:
        coming = asyncio.ensure_future(anext(events))
        await eventually(lambda: source.last_event_id)
        assert source.last_event_id == str(now)
        assert source.retry_milliseconds > 0
        await app.queues.pause("default")
        event = await coming

    assert (event["seq"], event["prev"], event["type"]) == (now + 1, now, "queue_changed")


async def test_the_last_id_of_a_browser_counts_more_than_the_address_it_was_given(
    app: Fairlane, url: str
) -> None:
    begin = await app.events.newest()
    await app.queues.pause("default")
    await app.queues.resume("default")
    [event] = await until(EventSource(str(begin + 1), after=begin), url, begin + 2)
    assert (event["seq"], event["prev"]) == (begin + 2, begin + 1)


@pytest.mark.parametrize("last", ["99999999", "9" * 39, "-1", "what?"])
async def test_an_id_that_never_was_is_answered_by_a_resync(
    app: Fairlane, url: str, last: str
) -> None:
    now = await app.events.newest()
    source = EventSource(last)
    [event] = await until(source, url, now)
    assert (event["type"], event["seq"]) == ("resync", now)
    assert source.last_event_id == str(now)


async def test_a_stream_can_be_narrowed_to_a_queue_or_a_job(app: Fairlane, url: str) -> None:
    begin = await app.events.newest()
    job = await app.tasks["work"].submit()
    await job.wait()
    await app.queues.pause("other")
    last = await app.events.newest()
    [paused] = await until(EventSource(after=begin, queue="other"), url, last)
    of_job = await until(EventSource(after=begin, job=job.id), url, last - 1)

    assert (paused["type"], paused["prev"]) == ("queue_changed", begin)
    assert {event["job"] for event in of_job} == {job.id}
    assert of_job[-1]["data"]["state"] == "completed"


@pytest.mark.parametrize("query", ["after=-1", "after=x", f"after={2**53}", "job=" + "x" * 201])
async def test_what_is_not_a_number_or_a_name_is_refused(url: str, query: str) -> None:
    answer = await got(f"{url}/api/events?{query}")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


async def got(url: str, **headers: str) -> httpx.Response:
    """Ask for a stream and take the head of the answer; a refusal with all of it."""
    async with (
        httpx.AsyncClient(timeout=30, verify=WITHOUT_TLS) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        if answer.status_code != 200:
            await answer.aread()
        return answer


async def test_no_cache_and_no_proxy_keeps_the_news_back(url: str) -> None:
    answer = await got(f"{url}/api/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"


async def test_only_who_may_read_is_told_anything(app: Fairlane) -> None:
    async with served(app, token=OPERATE, read_token=READ) as url:
        place = f"{url}/api/events"
        refused = [
            await got(place),
            await got(place, Authorization="Bearer wrong"),
            await got(place, Authorization=f"Bearer {READ}", Origin="http://elsewhere.example"),
            await got(place, Authorization=f"Bearer {READ}", Host="elsewhere.example"),
        ]
        allowed = await got(place, Authorization=f"Bearer {READ}")

    assert [answer.status_code for answer in refused] == [401, 401, 403, 403]
    assert allowed.status_code == 200


async def test_a_quiet_stream_has_comments(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_follower, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(event_stream, "CHECK_SECONDS", 0.01)
    source = EventSource()
    async with aclosing(source.told(url)) as events:
        coming = asyncio.ensure_future(anext(events))
        await eventually(lambda: source.comments >= 3)
        coming.cancel()
        await asyncio.wait([coming])


async def test_a_client_that_goes_away_is_forgotten(app: Fairlane, url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET /api/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    await reader.readuntil(b"retry: ")
    assert app._engine.feed.has_followers
    writer.transport.abort()
    await eventually(lambda: not app._engine.feed.has_followers)


async def test_uvicorn_can_end_while_somebody_follows(app: Fairlane) -> None:
    source = EventSource()
    async with served(app) as url:
        listening = asyncio.create_task(until(source, url, sys.maxsize))
        await eventually(lambda: source.last_event_id)
    assert await listening == []


async def test_secrets_are_not_told(tmp_path: Path) -> None:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db", stop_grace_seconds=0)

    @app.task(name="log_in")
    async def log_in(ctx: Context, password: SecretStr) -> None:
        ctx.log("logged in")

    async with app, served(app) as url:
        begin = await app.events.newest()
        await (await log_in.submit(password=SecretStr("swordfish"))).wait()
        last = await app.events.newest()
        told = await until(EventSource(after=begin), url, last)
        answer = await got_all(f"{url}/api/state")

    assert len(told) == last - begin
    assert "swordfish" not in str(told)
    assert "swordfish" not in answer
    assert MASK in answer


async def got_all(url: str) -> str:
    async with httpx.AsyncClient(timeout=30, verify=WITHOUT_TLS) as client:
        return (await client.get(url)).text

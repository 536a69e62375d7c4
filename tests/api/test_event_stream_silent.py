"""Clients that request events and never read them delay no other client, and memory is bounded."""

import asyncio
import socket
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from fairlane import Context, Fairlane
from fairlane.api.event_stream import follower as event_follower
from fairlane.api.event_stream import stream as event_stream
from tests.support.eventually import eventually
from tests.support.followers import EventSource, served, state_of

SILENT = 20
JOBS, LINES, LINE = 40, 500, "x" * 2_000  # 40 MB for each client that reads


def program() -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)

    @app.task(name="talk")
    async def talk(ctx: Context) -> None:
        for _ in range(LINES):
            ctx.log(LINE)

    return app


async def have_it_talk(app: Fairlane) -> None:
    for _ in range(JOBS):
        await (await app.tasks["talk"].submit()).wait()


def silent(url: str) -> socket.socket:
    """Request the events, and read none of them."""
    host, port = url.removeprefix("http://").split(":")
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    one.connect((host, int(port)))
    one.sendall(f"GET /api/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    return one


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.timeout(120)
async def test_who_does_not_read_costs_nobody_anything_and_is_sent_for_the_state() -> None:
    app, source = program(), EventSource()
    async with app, served(app) as url:
        lazy = [silent(url) for _ in range(SILENT)]
        before = resident_megabytes()
        heard = asyncio.create_task(until_paused(source, url))
        await eventually(lambda: source.last_event_id)
        await have_it_talk(app)
        await app.queues.pause("default")  # the last event
        events = await heard
        grown = resident_megabytes() - before
        types = [await asyncio.to_thread(types_in, one) for one in lazy]

    assert [event["prev"] for event in events[1:]] == [event["seq"] for event in events[:-1]]
    assert grown < SILENT * JOBS * LINES * len(LINE) / 1e6 / 3
    assert all("resync" in found for found in types)


async def until_paused(source: EventSource, url: str) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    async with aclosing(source.told(url)) as events:
        async for event in events:
            seen.append(event)
            is_over = event["type"] == "queue_changed"
            if event["type"] == "resync":
                is_over = (await state_of(url))["queues"]["default"]["paused"] is not None
            if is_over:
                break
    return seen


def types_in(one: socket.socket) -> set[str]:
    """Begin to read, up to a resync or until no more data arrives."""
    received = b""
    one.settimeout(5)
    with one:
        while b"event: resync" not in received[-1_000:]:
            try:
                piece = one.recv(1 << 20)
            except TimeoutError:
                break
            if not piece:
                break
            received += piece
    found = received.split(b"event: ")[1:]
    return {piece.partition(b"\n")[0].decode() for piece in found}


@pytest.mark.timeout(120)
async def test_who_reads_nothing_for_long_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_follower, "STALLED_SECONDS", 0.2)
    monkeypatch.setattr(event_stream, "CHECK_SECONDS", 0.05)
    app = program()
    async with app, served(app) as url:
        lazy = silent(url)
        place = f"{url.replace('http', 'ws', 1)}/api/ws"
        async with connect(place, max_queue=1, compression=None, close_timeout=0):
            await eventually(lambda: app._engine.feed.has_followers)
            await have_it_talk(app)
            await eventually(lambda: not app._engine.feed.has_followers, what="both let go")
            state = await state_of(url)
        lazy.close()

    assert [job["state"] for job in state["ended"]] == ["completed"] * JOBS

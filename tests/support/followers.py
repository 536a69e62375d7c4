"""Clients of the event stream, and the state that they derive from it.

A client follows until it is disconnected and then reconnects with the last number that it received.
Its `Mirror` is the state that a page would show: a snapshot, and all events since.
"""

import asyncio
import json
import random
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

import httpx
import uvicorn
from websockets.asyncio.client import connect

from fairlane import Fairlane
from fairlane.api.application import asgi
from fairlane.core.lifecycle import FINAL

OPERATE, READ = "a-token-to-operate", "a-token-to-read"
WITHOUT_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # loading certificates is slow


@asynccontextmanager
async def served(app: Fairlane, **options: Any) -> AsyncIterator[str]:
    """Serve a started app on a free port; yield its URL."""
    async with serving_application(asgi(app, **options)) as url:
        yield url


@asynccontextmanager
async def serving_application(application: Any) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        server = uvicorn.Server(uvicorn.Config(application, log_config=None, log_level="critical"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


class Mirror:
    """The state of a client: counts, running and ended jobs, paused queues."""

    def __init__(self) -> None:
        self.seq = -1
        self.counts: dict[tuple[str, str], int] = {}
        self.running: dict[str, Any] = {}  # with their progress
        self.ended: dict[str, str] = {}
        self.paused: dict[str, str | None] = {}
        self.taken = 0  # how often the snapshot was read

    def take(self, state: dict[str, Any]) -> None:
        self.taken += 1
        self.seq = state["seq"]
        self.counts = {
            (queue, name): amount
            for queue, amounts in state["counts"].items()
            for name, amount in amounts.items()
        }
        self.running = {job["id"]: job["progress"]["percent"] for job in state["running"]}
        self.ended |= {job["id"]: job["state"] for job in state["ended"]}
        self.paused = {name: queue["paused"] for name, queue in state["queues"].items()}

    def hear(self, event: dict[str, Any]) -> bool:
        """Apply an event; return whether it fits the known state."""
        if event["seq"] <= self.seq:
            return True  # the snapshot was newer
        if event["type"] == "resync" or event["prev"] != self.seq:
            return False
        self.seq = event["seq"]
        match event["type"]:
            case "job_state_changed":
                self._change(event["job"], event["queue"], event["data"])
            case "job_progress" if "progress" in event["data"]:
                self.running[event["job"]] = event["data"]["progress"].get("percent")
            case "queue_changed":
                self.paused[event["queue"]] = event["data"]["paused"]
        return True

    def _change(self, job: str, queue: str, data: dict[str, Any]) -> None:
        was, state = data["from"], data["state"]
        self._count(queue, was, -1)
        self._count(queue, state, 1)
        self.running.pop(job, None)
        if state == "running":
            self.running[job] = None
        if state in FINAL:
            self.ended[job] = state

    def _count(self, queue: str, state: str, change: int) -> None:
        if state not in FINAL and state != "created":
            amount = self.counts.pop((queue, state), 0) + change
            if amount:
                self.counts[queue, state] = amount

    def shown(self, like: "Mirror") -> dict[str, Any]:
        """Return the known state; of the ended jobs as many as the other mirror has."""
        return {
            "counts": self.counts,
            "running": self.running,
            "ended": {job: self.ended.get(job) for job in like.ended},
            "paused": self.paused,
        }


class Line(Protocol):
    """A transport of events."""

    def told(self, url: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events of one connection, until it ends."""


class EventSource:
    """A browser's EventSource: it stores the last id, and sends it when it reconnects."""

    def __init__(self, last_event_id: str = "", **query: Any) -> None:
        self.last_event_id = last_event_id
        self.retry_milliseconds = 0
        self.comments = 0
        self._query = query

    async def told(self, url: str) -> AsyncGenerator[dict[str, Any], None]:
        headers = {"Accept": "text/event-stream"}
        if self.last_event_id:
            headers["Last-Event-ID"] = self.last_event_id
        async with (
            httpx.AsyncClient(timeout=30, verify=WITHOUT_TLS) as client,
            client.stream(
                "GET", f"{url}/api/events", params=self._query, headers=headers
            ) as answer,
        ):
            assert answer.status_code == 200, await answer.aread()
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                if line:
                    self._read(line, fields)
                    continue
                self.last_event_id = fields.get("id", self.last_event_id)
                if "data" in fields:
                    event = json.loads(fields["data"])
                    assert (fields["event"], fields["id"]) == (event["type"], str(event["seq"]))
                    yield event
                fields = {}

    def _read(self, line: str, fields: dict[str, str]) -> None:
        name, _, value = line.partition(":")
        if not name:
            self.comments += 1
        elif name == "retry":
            self.retry_milliseconds = int(value)
        else:
            fields[name] = value.removeprefix(" ")


class Socket:
    def __init__(self, after: int, **query: Any) -> None:
        self.after = after
        self._query = query

    async def told(self, url: str) -> AsyncGenerator[dict[str, Any], None]:
        query = httpx.QueryParams({"after": self.after, **self._query})
        place = f"{url.replace('http', 'ws', 1)}/api/ws?{query}"
        async with connect(place, max_size=None, open_timeout=30, close_timeout=0) as socket:
            async for text in socket:
                event = json.loads(text)
                self.after = event["seq"]
                yield event


class Follower:
    """A client that follows over any transport, and reconnects."""

    def __init__(self, line: Line, mirror: Mirror, *, seed: int) -> None:
        self.line = line
        self.mirror = mirror
        self.cuts = 0
        self._dice = random.Random(seed)

    async def follow(self, urls: Sequence[str], *, cuts: int) -> None:
        """Disconnect a number of times at random, then stay connected.

        Each connection uses another server.
        """
        while True:
            url = urls[self.cuts % len(urls)]
            left = self._dice.randint(0, 40) if self.cuts < cuts else None
            async with aclosing(self.line.told(url)) as events:
                async for event in events:
                    if not self.mirror.hear(event):
                        self.mirror.take(await state_of(url))
                    if left is not None:
                        if left == 0:
                            break
                        left -= 1
            self.cuts += 1


async def state_of(url: str) -> dict[str, Any]:
    async with httpx.AsyncClient(timeout=30, verify=WITHOUT_TLS) as client:
        answer = await client.get(f"{url}/api/state")
    assert answer.status_code == 200, answer.text
    state: dict[str, Any] = answer.json()
    return state

"""A server with the Mastodon API over real sockets, which misbehaves on demand.

It runs on an event loop in a separate thread, so that tests of any kind can use it, and records
every request with its start and end. By default it answers `lookup` and `statuses` with `Link`
paging, `max_id`, `since_id` and rate-limit headers, and files with ETag and ranges. A test can
install its own handler for any path.
"""

import asyncio
import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

PAGE: Final = 40
FIRST_DAY: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
_REASONS: Final = {200: "OK", 206: "Partial Content", 302: "Found", 404: "Not Found",
                   416: "Range Not Satisfiable", 429: "Too Many Requests",
                   500: "Internal Server Error", 503: "Service Unavailable"}  # fmt: skip


@dataclass
class Request:
    """One line of the journal."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    account: str
    began_at: float
    number: int  # number among the requests of its path, from 1
    status: int = 0
    sent: int = 0
    ended_at: float | None = None

    @property
    def range_from(self) -> int | None:
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        return int(found[1]) if found else None


@dataclass
class Exchange:
    """A request and its connection, for a handler."""

    request: Request
    writer: asyncio.StreamWriter
    keeps: bool = True

    async def head(
        self, status: int, headers: Mapping[str, object] = {}, body: bytes = b""
    ) -> None:
        """Send a head, with the available body in the same packet."""
        self.request.status = status
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Odd')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)
        self.request.sent += len(body)
        await self.writer.drain()

    async def send(self, body: bytes) -> None:
        self.writer.write(body)
        self.request.sent += len(body)
        await self.writer.drain()

    async def answer(
        self, status: int, body: bytes = b"", headers: Mapping[str, object] = {}
    ) -> None:
        await self.head(status, {"Content-Length": len(body), **headers}, body)

    def cut(self) -> None:
        """Drop the connection."""
        self.keeps = False
        self.writer.transport.abort()


Handler = Callable[[Exchange], Awaitable[None]]


@dataclass
class Status:
    id: int
    media: Sequence[dict[str, Any]]
    created_at: datetime
    in_reply_to_id: str | None = None
    reblog: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": str(self.id), "created_at": self.created_at.isoformat().replace("+00:00", "Z"),
            "url": f"https://example.test/{self.id}", "content": f"<p>post {self.id}</p>",
            "in_reply_to_id": self.in_reply_to_id, "reblog": self.reblog,
            "media_attachments": list(self.media), "sensitive": False, "spoiler_text": "",
            "visibility": "public", "tags": [],
            "account": {"id": "1", "acct": "somebody", "username": "somebody"},
        }  # fmt: skip


@dataclass
class Account:
    id: str
    statuses: list[Status] = field(default_factory=list)  # the oldest first


class MastodonServer:
    def __init__(self) -> None:
        self.journal: list[Request] = []
        self.visited: dict[str, int] = {}  # the journal index at which each account begins
        self.accounts: dict[str, Account] = {}
        self.files: dict[str, bytes] = {}
        self.handlers: dict[str, Handler] = {}
        self.api_headers: dict[str, str] = {}
        self._asked: Counter[str] = Counter()
        self._doors: dict[str, asyncio.Event] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    # set up by tests

    def post(
        self,
        account: str,
        *files: str,
        body: bytes | None = None,
        day: int = 0,
        type: str = "image",
        reply: bool = False,
        boost: bool = False,
        urls: Sequence[str] = (),
    ) -> list[str]:
        """Add a post with these files to an account, and return the paths of the files.

        The content of a file is its name unless a body is given.
        """
        known = self.accounts.setdefault(account, Account(str(1000 + len(self.accounts))))
        id = 100_000 + sum(len(other.statuses) for other in self.accounts.values())
        paths = [f"/media/{account}/{id}/{name}" for name in files]
        for path in paths:
            self.files[path] = path.encode() * 3 if body is None else body
        addresses = [*(f"{self.url}{path}" for path in paths), *urls]
        media: list[dict[str, Any]] = [
            {"id": f"{id}{n}", "type": type, "url": url, "preview_url": url, "remote_url": None,
             "description": "seen", "meta": {}}
            for n, url in enumerate(addresses)
        ]  # fmt: skip
        status = Status(id, media, FIRST_DAY + timedelta(days=day, seconds=len(known.statuses)))
        if reply:
            status.in_reply_to_id = "77"
        if boost:
            original = status.as_json() | {"id": f"9{id}"}
            status.reblog, status.media = original, ()
        known.statuses.append(status)
        return paths

    def hold(self, account: str, *, size: int = 0, sent: int = 0) -> str:
        """Add a post whose file stops after `sent` bytes until `open(account)`; return its path.

        A second request gets the whole file.
        """
        body = account.encode() * (size // len(account) + 1)
        [path] = self.post(account, "held.jpg", body=body)

        async def handler(exchange: Exchange) -> None:
            if exchange.request.number == 1:
                await exchange.head(200, {"Content-Length": len(body), "ETag": _tag(body)})
                await exchange.send(body[:sent])
                await self.wait(account)
                await exchange.send(body[sent:])
            else:
                await self.file(exchange, body)

        self.handlers[path] = handler
        return path

    def name(self, account: str) -> str:
        """Return the account name in the archiver."""
        return f"{self.url}/@{account}"

    def open(self, name: str) -> None:
        """Release the requests that wait at a gate."""
        self._loop.call_soon_threadsafe(self._door(name).set)

    def _door(self, name: str) -> asyncio.Event:
        return self._doors.setdefault(name, asyncio.Event())

    async def wait(self, name: str) -> None:
        await self._door(name).wait()

    # read by tests

    def asked(self, path: str) -> list[Request]:
        return [request for request in list(self.journal) if request.path == path]

    def of(self, account: str) -> list[Request]:
        return [request for request in list(self.journal) if request.account == account]

    # serving

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=256)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client disconnected, or the test has ended
        finally:
            self._tasks.discard(task)
            with suppress(ConnectionError):
                writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        target = urlsplit(head[0].split(" ")[1])
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        self._asked[target.path] += 1
        request = Request(
            path=target.path, query=dict(parse_qsl(target.query)), headers=headers,
            account=self._account_of(target.path, dict(parse_qsl(target.query))),
            began_at=time.monotonic(), number=self._asked[target.path],
        )  # fmt: skip
        self.visited.setdefault(request.account, len(self.journal))
        self.journal.append(request)
        exchange = Exchange(request, writer)
        try:
            await self._answer(exchange)
        finally:
            request.ended_at = time.monotonic()
        return exchange.keeps

    async def _answer(self, exchange: Exchange) -> None:
        path = exchange.request.path
        if path in self.handlers:
            await self.handlers[path](exchange)
        elif path == "/api/v1/accounts/lookup":
            await self._lookup(exchange)
        elif found := re.fullmatch(r"/api/v1/accounts/([^/]+)/statuses", path):
            await self.statuses(exchange, found[1])
        elif path in self.files:
            await self.file(exchange, self.files[path])
        else:
            await exchange.answer(404)

    def _account_of(self, path: str, query: Mapping[str, str]) -> str:
        if path.startswith("/media/"):
            return path.split("/")[2]
        if found := re.fullmatch(r"/api/v1/accounts/([^/]+)/statuses", path):
            return next((n for n, a in self.accounts.items() if a.id == found[1]), "")
        return query.get("acct", "")

    async def _lookup(self, exchange: Exchange) -> None:
        known = self.accounts.get(exchange.request.query.get("acct", ""))
        if known is None:
            await exchange.answer(404, b'{"error": "Record not found"}')
        else:
            await self._json(exchange, {"id": known.id, "username": "x", "acct": "x"})

    async def statuses(self, exchange: Exchange, id: str) -> None:
        query = exchange.request.query
        account = next(a for a in self.accounts.values() if a.id == id)
        found = [
            status
            for status in reversed(account.statuses)
            if status.id < int(query.get("max_id", 1 << 62))
            and status.id > int(query.get("since_id", 0))
            and not (query.get("only_media") == "true" and not status.media)
            and not (query.get("exclude_replies") == "true" and status.in_reply_to_id)
            and not (query.get("exclude_reblogs") == "true" and status.reblog)
        ]
        page = found[: min(PAGE, int(query.get("limit", 20)))]
        headers = dict(self.api_headers)
        if page:
            place = f"{self.url}/api/v1/accounts/{id}/statuses"
            links = [f'<{place}?min_id={page[0].id}>; rel="prev"']
            if len(found) > len(page):
                links.insert(0, f'<{place}?limit=40&max_id={page[-1].id}>; rel="next"')
            headers["Link"] = ", ".join(links)
        await self._json(exchange, [status.as_json() for status in page], headers)

    async def _json(
        self, exchange: Exchange, value: object, headers: Mapping[str, str] = {}
    ) -> None:
        known = {"Content-Type": "application/json; charset=utf-8", **headers}
        await exchange.answer(200, json.dumps(value).encode(), known)

    async def file(
        self,
        exchange: Exchange,
        body: bytes,
        *,
        until: int | None = None,
        headers: Mapping[str, object] = {},
    ) -> None:
        """Send a file, whole or from the requested offset; `until` cuts it short."""
        tag = _tag(body)
        known = {"ETag": tag, "Accept-Ranges": "bytes", "Content-Type": "image/jpeg", **headers}
        start = exchange.request.range_from
        if start is not None and exchange.request.headers.get("if-range") == tag:
            if start >= len(body):
                await exchange.answer(416, b"", {"Content-Range": f"bytes */{len(body)}"})
                return
            known["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            status = 206
        else:
            start, status = 0, 200
        await exchange.head(
            status, {"Content-Length": len(body) - start, **known}, body[start:until]
        )


def _tag(body: bytes) -> str:
    return '"' + hashlib.sha256(body).hexdigest()[:16] + '"'


@contextmanager
def mastodon() -> Iterator[MastodonServer]:
    server = MastodonServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()

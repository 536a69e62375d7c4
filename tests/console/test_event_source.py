"""Browsers' own `EventSource`, cut off again and again, with no console around it."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, Route

from tests.support.apps import Doors
from tests.support.browser import visiting
from tests.support.eventually import eventually
from tests.support.followers import Mirror, served, state_of
from tests.support.under_load import a_moment_of_load, program, rests

CUTS: Final = 100
FOLLOW: Final = """
window.heard = [];
window.follow = (after, types) => {
  const source = new EventSource(`/api/events?after=${after}`);
  for (const type of types) {
    source.addEventListener(type, ({ data }) => window.heard.push(JSON.parse(data)));
  }
};
window.taken = () => window.heard.splice(0);
"""
TYPES: Final = [
    "job_state_changed", "job_progress", "job_log", "job_moved", "job_stopping", "job_stuck",
    "queue_changed", "limit_changed", "lane_changed", "schedule_changed", "schedule_fired",
    "device_changed", "worker_changed", "resync",
]  # fmt: skip


class Line:
    """A way to a server on which every connection is lost after a while, so many times."""

    def __init__(self, url: str, *, seed: int) -> None:
        self.cuts = 0
        self._server = urlsplit(url)
        self._dice = random.Random(seed)

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _carry(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection(self._server.hostname, self._server.port)
        copying = asyncio.create_task(self._copy(here, onward))
        try:
            await self._tell(there, back)
        except OSError:
            pass  # the browser has gone
        finally:
            copying.cancel()
            onward.transport.abort()
            back.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)

    async def _tell(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self._dice.randint(0, 4)  # one read holds several events
        while data := await reader.read(4096):
            if self.cuts < CUTS and left == 0:
                self.cuts += 1
                # In mid-sentence, but not in mid-headers: a browser takes half of them for an
                # answer that is none, and does not come back.
                half = 0 if data.startswith(b"HTTP/") else self._dice.randint(0, len(data))
                writer.write(data[:half])
                await writer.drain()
                return
            left -= 1
            # A browser waits as long as the server requests; a test uses a short time.
            writer.write(data.replace(b"retry: 1000", b"retry: 0010"))
            await writer.drain()


async def open_page(browser: Browser, stack: AsyncExitStack, url: str, after: int) -> Page:
    """Open a page that is as plain as can be, and have it follow."""

    async def plain(route: Route) -> None:
        await route.fulfill(content_type="text/html", body=f"<script>{FOLLOW}</script>")

    context = await stack.enter_async_context(visiting(browser))
    page = await context.new_page()
    await page.route("**/plain.html", plain)
    await page.goto(f"{url}/plain.html")
    await page.evaluate("([after, types]) => follow(after, types)", [after, TYPES])
    return page


@pytest.mark.timeout(120)
async def test_pages_cut_off_a_hundred_times_under_load_end_with_the_state_of_a_fresh_one(
    browser: Browser, tmp_path: Path
) -> None:
    doors, dice = Doors(), random.Random(7)
    app = program(f"sqlite:///{tmp_path}/work.db", doors)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app)
        url = await stack.enter_async_context(served(app))
        begin = await state_of(url)
        lines = [Line(url, seed=1), Line(url, seed=2)]
        pages, mirrors = [], [Mirror(), Mirror()]
        for line, mirror in zip(lines, mirrors, strict=True):
            mirror.take(begin)
            place = await stack.enter_async_context(line.laid())
            pages.append(await open_page(browser, stack, place, begin["seq"]))

        async def hear() -> list[int]:
            for page, mirror in zip(pages, mirrors, strict=True):
                for event in await page.evaluate("taken()"):
                    fits = mirror.hear(event)
                    assert fits, f"{event} does not follow {mirror.seq}"
            return [mirror.seq for mirror in mirrors]

        number = 0
        while any(line.cuts < CUTS for line in lines):
            await a_moment_of_load(app, dice, number)
            await hear()
            # A page that was cut off tries again after some seconds. Without a pause a fast machine
            # adds more events meanwhile than the server keeps, and the page has to resync.
            await asyncio.sleep(0.02)
            number += 1
        await app.queues.resume("quick")
        await eventually(lambda: rests(url), what="an end of what is quick")
        fresh: dict[str, Any] = await state_of(url)

        async def have_all() -> bool:
            return bool(min(await hear()) >= fresh["seq"])

        await eventually(have_all, what="the last event on both pages")
        assert (await state_of(url))["seq"] == fresh["seq"]

    truth = Mirror()
    truth.take(fresh)
    assert truth.running
    for line, mirror in zip(lines, mirrors, strict=True):
        assert line.cuts == CUTS
        assert mirror.shown(truth) == truth.shown(truth)

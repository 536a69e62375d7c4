"""The page while the server or the connection is lost."""

import signal
import socket
from pathlib import Path

import httpx
from playwright.async_api import Browser, expect

from tests.support.browser import visiting, without_complaints
from tests.support.console_site import Site
from tests.support.followers import WITHOUT_TLS
from tests.support.served import serving
from tests.support.wire import wire_to


async def test_a_lost_connection_is_said_and_made_good_by_itself(
    browser: Browser, site: Site
) -> None:
    async with (
        wire_to(site.url) as wire,
        visiting(browser, base_url=f"{wire.url}/") as context,
    ):
        page = await context.new_page()
        with without_complaints(page):
            await page.goto("./")
            await expect(page.get_by_text("Live", exact=True).first).to_be_visible()
            first, second = await site.line("one", "two")
            site.puppets.progress("one", 20)
            row = page.locator(f'[data-job="{first}"]')
            await expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "20")

            wire.cut()
            await expect(page.get_by_text("Reconnecting", exact=True).first).to_be_visible()
            site.puppets.progress("one", 60)
            site.puppets.end("one")
            site.puppets.progress("two", 30)
            await site.reaches(second, "running")
            await site.puppets.obeyed("two")

            wire.mend()
            await expect(page.get_by_text("Live", exact=True).first).to_be_visible()
            await expect(row).to_contain_text("Completed")
            bar = page.locator(f'[data-job="{second}"]').get_by_role("progressbar")
            await expect(bar).to_have_attribute("aria-valuenow", "30")


async def test_a_server_that_is_killed_and_started_again_goes_on_in_the_same_page(
    browser: Browser, tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path}/work.db"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    async with visiting(browser, base_url=f"{url}/") as context:
        page = await context.new_page()
        with without_complaints(page):
            with serving("--port", port, database=database) as server:
                await page.goto("./")
                await page.evaluate("window.isTheSame = true")
                id = await submit(url, "nasa")
                row = page.locator(f'[data-job="{id}"]')
                await expect(row).to_be_visible()
                server.stop(signal.SIGKILL)
                await expect(page.get_by_text("Reconnecting", exact=True).first).to_be_visible()
            with serving("--port", port, database=database):
                await expect(page.get_by_text("Live", exact=True).first).to_be_visible()
                await expect(row).to_contain_text("attempt 2")
                other = await submit(url, "esa")
                await expect(page.locator(f'[data-job="{other}"]')).to_be_visible()
                assert await page.evaluate("window.isTheSame")
                await page.goto("about:blank")


async def submit(url: str, handle: str) -> str:
    body = {"task": "archive", "params": {"handle": handle, "seconds": 600}}
    async with httpx.AsyncClient(verify=WITHOUT_TLS) as client:
        return str((await client.post(f"{url}/api/jobs", json=body)).json()["id"])

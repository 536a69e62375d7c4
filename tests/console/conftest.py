"""Fixtures of the browser tests: one browser for each process, one server for each test.

All of it lives on one loop, that of the session, on which the browser's driver was started.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.support.browser import chromium, visiting, without_complaints
from tests.support.console_program import program
from tests.support.console_site import Site
from tests.support.followers import served
from tests.support.puppets import Puppets

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    puppets = Puppets()
    app = program(f"sqlite:///{tmp_path}/work.db", puppets, tmp_path)
    async with app, served(app) as url:
        found = Site(app, url, puppets, tmp_path)
        async with found.api:
            yield found


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, site: Site) -> AsyncIterator[Page]:
    """The console in a browser, which must log no errors."""
    async with AsyncExitStack() as stack:
        context = await stack.enter_async_context(visiting(browser, base_url=f"{site.url}/"))
        page = await context.new_page()
        stack.enter_context(without_complaints(page))
        await page.goto("./")
        yield page

"""A real browser: the system's Chromium, driven by Playwright.

`make test` installs it where it may. Without a browser the tests that need it are skipped with a
reason.
"""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    async_playwright,
    expect,
)

NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
TIMEOUT_MILLISECONDS: Final = 15_000  # ends a broken test, as the timeout of `eventually` does
DESKTOP: Final = {"width": 1280, "height": 800}
PHONE: Final = {"width": 360, "height": 740}

_ARGUMENTS: Final = [
    "--disable-dev-shm-usage",  # containers have little shared memory
    "--disable-gpu",
    "--font-render-hinting=none",
]

expect.set_options(timeout=TIMEOUT_MILLISECONDS)  # `expect` ignores the timeout of the page


def find_chromium() -> str | None:
    """Return the path of Chromium: from CHROMIUM, or from the PATH."""
    named = os.environ.get("CHROMIUM")
    found = (shutil.which(name) for name in ((named,) if named else NAMES))
    return next((path for path in found if path), None)


@asynccontextmanager
async def chromium(*more: str) -> AsyncIterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("there is no chromium (apt-get install chromium, or set CHROMIUM)")
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    arguments = [*_ARGUMENTS, *more, *(["--no-sandbox"] if is_root else [])]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def visiting(browser: Browser, **options: Any) -> AsyncIterator[BrowserContext]:
    """Open a page in a fresh browser context for the duration of the block."""
    given = {"viewport": DESKTOP, "locale": "en-GB", "color_scheme": "light", **options}
    context = await browser.new_context(reduced_motion="reduce", **given)
    context.set_default_timeout(TIMEOUT_MILLISECONDS)
    try:
        yield context
    finally:
        await context.close()


@contextmanager
def without_complaints(page: Page) -> Iterator[list[str]]:
    """Fail at the end if the page reported errors.

    Chromium reports script errors and violations of the page's policy on its console. It also
    reports every error response and every lost connection, which the page handles itself: these are
    ignored.
    """
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        of_the_api = "/api/" in message.location.get("url", "")
        if message.type in ("error", "warning") and not (
            of_the_api and message.text.startswith("Failed to load resource")
        ):
            complaints.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield complaints
    assert not complaints, "the page complains: " + "; ".join(complaints)


async def in_chinese(page: Page) -> None:
    """Show the page in Chinese from now on."""
    await page.evaluate("localStorage.setItem('fairlane.language', 'zh')")
    await page.reload()

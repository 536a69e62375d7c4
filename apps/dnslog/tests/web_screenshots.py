"""Every page with a household's traffic, on a desktop and a phone, in both languages and themes.

`python -m apps.dnslog.tests.web_screenshots FOLDER` takes them all, further arguments name some
pages; the pictures of the README (`best-…`) are larger ones of the desktop.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser, Page

from apps.dnslog.tests.web_server import served_pages
from apps.dnslog.tests.web_site import EDITOR, PASSWORD, Site, add_account
from fairlane_dnslog.program import Program
from fairlane_dnslog.pull_log import record_gap
from fairlane_dnslog.rules.rule import Detail, Kind, RuleDraft
from fairlane_dnslog.rules.window import Window
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.stand_in import Options, stand_in
from tests.support.browser import chromium, visiting

DESKTOP: Final = {"width": 1280, "height": 860}
PHONE: Final = {"width": 390, "height": 844}
ZONE: Final = "Europe/Berlin"
NS: Final = 10**9
PAGES: Final = {
    "overview": "/",
    "overview-week": "/?range=week",
    "log": "/log",
    "log-search": "/log?domain=ads&blocked=yes&range=day",
    "rules": "/rules",
    "rule": "/rules/1",
    "rule-new": "/rules/new?preset=bedtime",
    "delete": "/rules/2/delete",
    "audit": "/audit",
    "status": "/status",
    "account": "/account",
    "missing": "/nowhere",
}
BEST: Final = ("overview", "log", "rules")
_TABLETS: Final = ("Leo tablet", "Mia tablet")
_SCHOOL_DAYS: Final = ("mon", "tue", "wed", "thu", "fri")
RULES: Final = (
    RuleDraft(
        name="No AI services on school days",
        kind=Kind.BLOCK_SERVICES,
        detail=Detail(services=("chatgpt", "claude", "gemini", "perplexity"), clients=_TABLETS),
        window=Window(weekdays=_SCHOOL_DAYS, start="14:00", end="19:30", timezone=ZONE),
    ),
    RuleDraft(
        name="Bedtime",
        kind=Kind.BLOCK_SERVICES,
        detail=Detail(services=("minecraft", "roblox", "tiktok", "twitch", "youtube")),
        window=Window(
            weekdays=("mon", "tue", "wed", "thu", "sun"), start="21:00", end="06:30", timezone=ZONE
        ),
    ),
    RuleDraft(
        name="Games at the weekend",
        kind=Kind.ALLOW_SERVICES,
        detail=Detail(services=("minecraft", "roblox", "steam"), clients=_TABLETS),
        window=Window(weekdays=("sat", "sun"), start="10:00", end="18:00", timezone=ZONE),
    ),
    RuleDraft(
        name="The vacuum stays at home",
        kind=Kind.CUSTOM_RULES,
        detail=Detail(lines=("||dustbot.com^", "||brightbulb.net^$client='Vacuum'")),
        window=Window(start="22:00", end="06:00", timezone=ZONE),
    ),
)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = set(sys.argv[2:])
    with household() as site, served_pages(site.app) as url:
        asyncio.run(take_all(url, folder, wanted))


@contextmanager
def household() -> Iterator[Site]:
    """Return the pages of a house whose log was pulled for days."""
    options = Options(rate=0.2, history_days=8, history_per_day=14_000, offset_minutes=60)
    with tempfile.TemporaryDirectory() as name, stand_in(options) as server:
        settings = Settings(
            folder=Path(name), database=f"sqlite:///{name}/dnslog.db", timezone=ZONE,
            servers=(server.settings(),), pull_seconds=5,
        )  # fmt: skip
        program = Program(settings, console_address="/queue/")
        program.prepare()
        add_account(program.database, EDITOR, "editor")
        program.start()
        try:
            fill(program)
            yield Site(program)
        finally:
            program.stop()


def fill(program: Program) -> None:
    for draft in RULES:
        program.save_rule(draft, actor="anna")
    first = program.current_rules().rules[0]
    changed = RuleDraft(
        **{
            field: getattr(first, field)
            for field in RuleDraft.__struct_fields__
            if field != "window"
        },
        window=Window(weekdays=_SCHOOL_DAYS, start="14:00", end="20:00", timezone=ZONE),
    )
    program.save_rule(changed, actor="jun", rule=first.id, revision=first.revision)
    last = program.current_rules().rules[3]
    program.enable_rule(last.id, enabled=False, revision=last.revision, actor="anna")
    begun = int(time.time()) - 30 * 3600
    with program.database.transaction() as tx:
        record_gap(
            tx, "home", from_ns=begun * NS, to_ns=(begun + 900) * NS, found_at=begun + 960.0,
            reason="AdGuard Home had already dropped this part of its log",
        )  # fmt: skip
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and count_rows(program) < 100_000:
        time.sleep(0.2)


def count_rows(program: Program) -> int:
    with program.database.reading() as tx:
        row: Any = tx.row("SELECT count(*) AS rows FROM query_log")
    return int(row["rows"])


async def take_all(url: str, folder: Path, wanted: set[str]) -> None:
    async with chromium() as browser:
        await take_best(browser, url, folder)
        if wanted == {"best"}:
            return
        for size, viewport in (("desktop", DESKTOP), ("phone", PHONE)):
            for language in ("en", "zh"):
                for theme in ("light", "dark"):
                    look = f"{size}-{language}-{theme}"
                    await take(browser, url, folder, look, viewport, wanted)


async def take_best(browser: Browser, url: str, folder: Path) -> None:
    async with visiting(
        browser, base_url=url, viewport=DESKTOP, device_scale_factor=1.5
    ) as context:
        page = await context.new_page()
        await page.goto("/login")
        await log_in(page)
        for name in BEST:
            await page.goto(PAGES[name])
            if name == "overview":
                await page.locator("[data-points]").wait_for()
                await page.locator(".u-over").hover()
            await page.screenshot(path=folder / f"best-{name}.png", full_page=name == "rules")


async def take(
    browser: Browser, url: str, folder: Path, look: str, viewport: dict[str, int], wanted: set[str]
) -> None:
    _, language, theme = look.split("-")
    locale = {"en": "en-GB", "zh": "zh-CN"}[language]
    async with visiting(
        browser, base_url=url, viewport=viewport, locale=locale, color_scheme=theme
    ) as context:
        page = await context.new_page()
        await page.goto("/login")
        if not wanted or "login" in wanted:
            await page.screenshot(path=folder / f"login-{look}.png")
        await log_in(page)
        for name, path in PAGES.items():
            if wanted and name not in wanted:
                continue
            await page.goto(path)
            if await page.locator("[data-chart]").count():
                await page.locator("[data-points]").wait_for()
            await check_width(page, name, look)
            await page.screenshot(path=folder / f"{name}-{look}.png", full_page=name != "log")


async def log_in(page: Page) -> None:
    await page.locator("input[name=name]").fill(EDITOR)
    await page.locator("input[name=password]").fill(PASSWORD)
    await page.locator("button.primary").click()
    await page.locator("nav").wait_for()


async def check_width(page: Page, name: str, look: str) -> None:
    width = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if width > 0:
        sys.stderr.write(f"{name} {look} scrolls by {width} pixels\n")


if __name__ == "__main__":
    main()

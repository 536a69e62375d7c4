"""Accessibility: axe reports no violation on any page, in either theme, on a desktop or a phone."""

from typing import Any, Final

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from tests.support.browser import DESKTOP, PHONE, visiting, without_complaints
from tests.support.console_site import Site

PLACES: Final = {
    "queue": "#/queue",
    "lanes": "#/lanes",
    "schedules": "#/schedules",
    "workers": "#/workers",
    "history": "#/history",
    "insights": "#/insights",
    "new": "#/new?task=greet",
}
RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


async def violations(page: Page) -> list[str]:
    options: Any = {"resultTypes": ["violations"], "runOnly": RULES}
    found = (await Axe().run(page, options=options)).response["violations"]
    return [f"{one['id']}: {one['help']}: {node['html'][:200]} {node['failureSummary'][:300]}"
            for one in found for node in one["nodes"]]  # fmt: skip


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("theme", "size"), [("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE)],
    ids=["light", "dark", "phone"],
)  # fmt: skip
async def test_no_page_has_a_violation(
    browser: Browser, site: Site, theme: str, size: dict[str, int]
) -> None:
    running, waiting = (await site.line("one", "two", "three"))[:2]
    site.puppets.progress("one", 30, "on the way")
    site.puppets.log("one", "a line of its log")
    failed = await site.submit("fail", message="no such file")
    await site.submit("flaky")
    await site.submit("archive", handle="nasa")
    await site.reaches(failed, "failed")
    shown = {"running": running, "waiting": waiting, "failed": failed}
    places = PLACES | {name: f"#/jobs/{id}" for name, id in shown.items()}
    found = {}
    async with visiting(
        browser, base_url=f"{site.url}/", color_scheme=theme, viewport=size
    ) as context:
        page = await context.new_page()
        with without_complaints(page):
            for name, place in places.items():
                await page.goto(f"./{place}")
                await page.get_by_role("main").get_by_role("heading").first.wait_for()
                await expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
                found[name] = await violations(page)
    told = [f"{name}: {one}" for name, each in found.items() for one in each]
    assert not told, "\n".join(told)


@pytest.mark.timeout(120)
async def test_no_dialog_or_menu_has_a_violation(page: Page, site: Site) -> None:
    _, waiting = await site.line("one", "two")
    found = {}

    async def look(name: str, role: Any = "dialog") -> None:
        await page.get_by_role(role).wait_for()
        found[name] = await violations(page)
        await page.keyboard.press("Escape")
        await expect(page.get_by_role(role)).to_have_count(0)

    await page.get_by_role("button", name="Preferences").click()
    await look("preferences", "menu")
    await page.keyboard.press("?")
    await look("help")
    await page.goto(f"./#/jobs/{waiting}")
    await page.get_by_role("button", name="Cancel", exact=True).click()
    await look("cancel")
    await page.goto("./#/schedules")
    await page.get_by_role("button", name="New schedule").click()
    await look("schedule")
    await page.goto("./#/lanes")
    await page.get_by_role("button", name="Add lane").first.click()
    await expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    await look("lane")
    told = [f"{name}: {one}" for name, each in found.items() for one in each]
    assert not told, "\n".join(told)

"""On a phone every page fits the width, and the navigation is at the bottom."""

from typing import Final

from playwright.async_api import Browser, expect

from tests.console.test_axe import PLACES
from tests.support.browser import PHONE, visiting, without_complaints
from tests.support.console_site import Site

OVERFLOW: Final = "document.documentElement.scrollWidth - innerWidth"


async def test_no_page_is_wider_than_a_phone(browser: Browser, site: Site) -> None:
    long = "a-name-without-any-place-to-break-it-" * 5
    running, waiting = await site.line(long, f"{long}-2")
    failed = await site.submit("fail", message=long)
    await site.submit("archive", handle=long)
    await site.reaches(failed, "failed")
    shown = {"running": running, "waiting": waiting, "failed": failed}
    places = PLACES | {name: f"#/jobs/{id}" for name, id in shown.items()}
    async with visiting(
        browser, base_url=f"{site.url}/", viewport=PHONE, has_touch=True, is_mobile=True
    ) as context:
        page = await context.new_page()
        wide = {}
        with without_complaints(page):
            for name, place in places.items():
                await page.goto(f"./{place}")
                await page.get_by_role("main").get_by_role("heading").first.wait_for()
                await expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
                wide[name] = await page.evaluate(OVERFLOW)
            assert not any(over > 0 for over in wide.values()), wide
            await page.get_by_role("navigation").get_by_role("link", name="Lanes").tap()
            await expect(page.get_by_role("heading", level=1)).to_have_text("Lanes")

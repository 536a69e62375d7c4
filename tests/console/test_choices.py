"""A list of a few choices is ticked, and a check of the program's own speaks for itself."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Literal

import pytest_asyncio
from playwright.async_api import Page, expect
from pydantic import AfterValidator

from tests.console.test_axe import violations
from tests.support.console_program import program
from tests.support.console_site import Site
from tests.support.followers import served
from tests.support.puppets import Puppets

Kind = Literal["image", "video", "audio"]


def account(text: str) -> str:
    if not text.startswith("@"):
        raise ValueError(f"{text} is no account")
    return text


@pytest_asyncio.fixture(loop_scope="session")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    puppets = Puppets()
    app = program(f"sqlite:///{tmp_path}/work.db", puppets, tmp_path)

    @app.task
    def follow(
        account: Annotated[str, AfterValidator(account)],
        kinds: list[Kind] = ["image", "video"],  # noqa: B006 - it is never changed
        replies: bool = True,
    ) -> list[str]:
        """Save some kinds of posts of an account."""
        return [*kinds]

    async with app, served(app) as url:
        found = Site(app, url, puppets, tmp_path)
        async with found.api:
            yield found


async def test_choices_are_ticked_and_only_they_are_shown(page: Page, site: Site) -> None:
    await page.set_viewport_size({"width": 900, "height": 800})  # between a desk and a phone
    await page.goto("./#/new?task=follow")
    kinds = page.get_by_role("group", name="kinds")
    await expect(kinds.get_by_role("checkbox", checked=True)).to_have_count(2)
    await kinds.get_by_label("image").uncheck()
    await kinds.get_by_label("audio").check()
    assert not await violations(page)

    name = page.get_by_label("account")
    await name.fill("ann")
    await page.get_by_role("button", name="Submit", exact=True).click()
    await expect(name).to_have_accessible_description("ann is no account")
    await name.fill("@ann")
    await page.get_by_role("button", name="Submit", exact=True).click()
    await expect(page.get_by_text("1 job queued")).to_be_visible()
    (job,) = (await site.get("/jobs?task=follow"))["items"]
    assert (await site.reaches(job["id"], "completed"))["result"] == ["video", "audio"]

    await page.goto("./#/history")
    row = page.locator(f'[data-job="{job["id"]}"]')
    await expect(row).to_contain_text("account: @ann · kinds: video, audio")
    await expect(row).not_to_contain_text("replies")

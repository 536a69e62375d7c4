"""Where a token is needed, and where the console is not at the root."""

from pathlib import Path

from fastapi import FastAPI
from playwright.async_api import Browser, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairlane import Fairlane
from tests.support.browser import visiting, without_complaints
from tests.support.console_program import program
from tests.support.followers import OPERATE, READ, served, serving_application
from tests.support.puppets import Puppets


async def test_it_requires_a_token_and_shows_its_role(browser: Browser, tmp_path: Path) -> None:
    app = program("memory://", Puppets(), tmp_path)
    async with (
        app,
        served(app, token=OPERATE, read_token=READ) as url,
        visiting(browser, base_url=f"{url}/") as context,
    ):
        page = await context.new_page()
        with without_complaints(page):
            await page.goto("./#/queue?queue=line")
            await page.get_by_label("Token").fill("not a token")
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_text("The server does not accept this token.")).to_be_visible()
            await page.get_by_label("Token").fill(READ)
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_text("Live", exact=True).first).to_be_visible()
            await expect(
                page.get_by_text("Read-only access: you cannot make changes")
            ).to_be_visible()
            await expect(page.get_by_role("button", name="Pause", exact=True)).to_be_disabled()

            await page.get_by_role("button", name="Preferences").click()
            await page.get_by_role("menuitem", name="Sign out").click()
            await page.get_by_label("Token").fill(OPERATE)
            await page.get_by_role("button", name="Sign in").click()
            await page.get_by_role("button", name="Pause", exact=True).click()
            await expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
            await page.reload()
            await expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
            assert OPERATE not in str(await context.storage_state())


async def test_it_works_under_a_prefix(browser: Browser, tmp_path: Path) -> None:
    app = program("memory://", Puppets(), tmp_path)
    outer = FastAPI()
    outer.mount("/some/where", app.asgi(token=OPERATE))
    async with (
        app,
        serving_application(outer) as url,
        visiting(browser, base_url=f"{url}/some/where/") as context,
    ):
        page = await context.new_page()
        with without_complaints(page):
            await page.goto("./")
            await page.get_by_label("Token").fill(OPERATE)
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_text("Live", exact=True).first).to_be_visible()
            job = await app.submit(app.tasks["play"].call("ann"))
            await expect(page.locator(f'[data-job="{job.id}"]')).to_be_visible()
            await page.get_by_role("link", name="Lanes").click()
            await expect(page.get_by_role("heading", level=1)).to_have_text("Lanes")


async def test_a_page_of_a_site_leads_to_the_sign_in_and_back(browser: Browser) -> None:
    async def page_of_site(request: Request) -> Response:
        return HTMLResponse(f"<!doctype html><title>x</title>letter {request.query_params['id']}")

    site = Starlette(routes=[Route("/letters", page_of_site)])
    app = Fairlane("memory://", site=site)
    async with app, served(app, token=OPERATE) as url, visiting(browser) as context:
        page = await context.new_page()
        await page.goto(f"{url}/letters?id=a%26b#top")
        await page.get_by_label("Token").fill(OPERATE)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_text("letter a&b")).to_be_visible()
        assert page.url == f"{url}/letters?id=a%26b#top"

        await page.goto(f"{url}/queue/")
        await expect(page.get_by_text("Live", exact=True).first).to_be_visible()
        for elsewhere in ("//evil.example/", "https://evil.example/"):
            await page.goto(f"{url}/queue/?next={elsewhere}")
            await expect(page.get_by_text("Live", exact=True).first).to_be_visible()

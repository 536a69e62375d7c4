"""Files: sent by a form or by dropping them on the queue, and fetched from the page of a job."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect
from pydantic import Field

from fairlane import File
from tests.console.test_axe import violations
from tests.support.browser import visiting, without_complaints
from tests.support.console_program import program
from tests.support.console_site import Site
from tests.support.eventually import eventually
from tests.support.followers import served
from tests.support.puppets import Puppets


@pytest_asyncio.fixture(loop_scope="session")
async def site(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    """A site with tasks that take a file."""
    puppets = Puppets()
    app = program(f"sqlite:///{tmp_path}/work.db", puppets, tmp_path)
    taking = getattr(request, "param", "one")  # the tasks whose only required parameter is a file

    @app.task
    def join(first: File, others: list[File]) -> int:
        """Tell how long some files are together."""
        return sum(Path(file).stat().st_size for file in (first, *others))

    if taking != "none":

        @app.task(queue="line")
        def measure(file: File, times: Annotated[int, Field(ge=1, le=9)] = 1) -> int:
            """Tell how long a file is."""
            return Path(file).stat().st_size * times

    if taking == "several":

        @app.task
        def count(file: File) -> int:
            """Count the lines of a file."""
            return len(Path(file).read_text().splitlines())

    async with app, served(app) as url:
        found = Site(app, url, puppets, tmp_path)
        async with found.api:
            yield found


async def jobs_of(site: Site, task: str) -> list[Any]:
    return list(reversed((await site.get(f"/jobs?task={task}&limit=1000"))["items"]))


def file(name: str, content: str = "abc") -> Any:
    return {"name": name, "mimeType": "text/plain", "buffer": content.encode()}


async def test_a_form_sends_a_file_and_fills_its_path_in(page: Page, site: Site) -> None:
    await page.goto("./#/new?task=measure")
    zone = page.get_by_role("group", name="Upload a file for file")
    async with page.expect_file_chooser() as chooser:
        await zone.get_by_role("button", name="Choose a file").click()
    await (await chooser.value).set_files(file("片 1.mp4", "x" * 1000))
    path = str(site.folder / "uploads" / "片 1.mp4")
    await expect(page.get_by_label("file", exact=True)).to_have_value(path)
    await page.get_by_role("button", name="Submit", exact=True).click()
    await expect(page.get_by_text("1 job queued")).to_be_visible()
    [job] = await jobs_of(site, "measure")
    assert (await site.reaches(job["id"], "completed"))["result"] == 1000


async def test_a_list_of_files_gets_one_more_with_each(page: Page, site: Site) -> None:
    await page.goto("./#/new?task=join")
    zone = page.get_by_role("group", name="Upload a file for others")
    await zone.locator("input").set_input_files([file("a.txt"), file("b.txt")])
    uploads = site.folder / "uploads"
    others = page.get_by_label("others", exact=True)
    await expect(others).to_have_value(f"{uploads}/a.txt\n{uploads}/b.txt")


async def test_a_full_disk_is_told_where_the_file_was_sent(page: Page, site: Site) -> None:
    await page.goto("./#/new?task=measure")
    zone = page.get_by_role("group", name="Upload a file for file")
    await zone.wait_for()
    site.app._uploads.folder = Path("/proc/full")  # type: ignore[union-attr]
    await zone.locator("input").set_input_files(file("a.txt"))
    await expect(zone.get_by_role("alert")).to_contain_text("0 bytes is free")
    await expect(page.get_by_label("file", exact=True)).to_have_value("")


async def test_an_artifact_of_a_job_is_downloaded(page: Page, site: Site) -> None:
    id = await site.submit("write", name="report")
    site.puppets.end("report")
    await site.reaches(id, "completed")
    await page.goto(f"./#/jobs/{id}")
    link = page.get_by_role("link", name="Download report.txt")
    async with page.expect_download() as download:
        await link.click()
    assert (await download.value).suggested_filename == "report.txt"
    assert Path(await (await download.value).path()).read_text() == "report"
    (site.folder / "report.txt").unlink()
    await link.click()
    await expect(page.get_by_role("alert")).to_contain_text("no longer exists")


async def test_a_reader_may_fetch_and_not_send(browser: Browser, site: Site) -> None:
    id = await site.submit("write", name="report")
    site.puppets.end("report")
    await site.reaches(id, "completed")
    tokens: Any = {"token": "may-operate-1", "read_token": "may-read-only-1"}
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(served(site.app, **tokens))
        context = await stack.enter_async_context(visiting(browser, base_url=f"{url}/"))
        page = await context.new_page()
        stack.enter_context(without_complaints(page))
        await page.goto("./#/new?task=measure")
        await page.get_by_label("Token").fill("may-read-only-1")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("button", name="Choose a file")).to_be_disabled()
        await page.goto(f"./#/jobs/{id}")
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download report.txt").click()
        assert Path(await (await download.value).path()).read_text() == "report"


async def drag(page: Page, *paths: Path, drop: bool = True) -> None:
    """Drag files and folders from outside over the page, as a person does."""
    session = await page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", *(["drop"] if drop else [])):
        await session.send(
            "Input.dispatchDragEvent", {"type": kind, "x": 600, "y": 400, "data": data}
        )


def written(folder: Path, *names: str) -> list[Path]:
    """Write files, each a byte longer than the one before."""
    folder.mkdir(exist_ok=True)
    paths = [folder / name for name in names]
    for size, path in enumerate(paths, 1):
        path.write_bytes(b"x" * size)
    return paths


async def test_files_that_are_dropped_become_jobs_in_their_order(page: Page, site: Site) -> None:
    names = [f"clip {number}.mp4" for number in range(8)]
    await page.get_by_role("button", name="Add files").wait_for()
    paths = written(site.folder / "mine", *names)
    await drag(page, paths[0], drop=False)
    await expect(page.get_by_text("Drop files to add them")).to_be_visible()
    await drag(page, *paths)
    await expect(page.get_by_text("Drop files to add them")).to_have_count(0)
    await expect(page.get_by_text("Added 8 jobs")).to_be_visible()
    jobs = await jobs_of(site, "measure")
    assert [Path(job["params"]["file"]).name for job in jobs] == names
    results = [(await site.reaches(job["id"], "completed"))["result"] for job in jobs]
    assert results == list(range(1, 9))


async def test_files_are_added_by_a_button_and_one_leads_to_its_job(page: Page, site: Site) -> None:
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Add files").press("Enter")
    await (await chooser.value).set_files(file("only.txt"))
    await expect(page.get_by_text("Added 1 job", exact=True)).to_be_visible()
    await page.get_by_role("status").get_by_role("link", name="Show").click()
    await expect(page.get_by_role("heading", name="measure")).to_be_visible()
    assert len(await jobs_of(site, "measure")) == 1


async def test_a_folder_is_taken_with_all_that_is_in_it_and_not_hidden(
    page: Page, site: Site
) -> None:
    await page.get_by_role("button", name="Add files").wait_for()
    folder = site.folder / "mine"
    written(folder, "2.txt", "10.txt", ".hidden")
    written(folder / "more", *(f"{number:03}.txt" for number in range(105)))
    await drag(page, folder)
    await expect(page.get_by_text("Added 107 jobs")).to_be_visible(timeout=20_000)
    names = [Path(job["params"]["file"]).name for job in await jobs_of(site, "measure")]
    assert names[-1] == "104.txt"
    assert names[0] == "2.txt"


async def test_a_file_that_cannot_be_sent_is_reported_and_the_rest_continues(
    page: Page, site: Site
) -> None:
    site.app._uploads.largest = 5  # type: ignore[union-attr]
    await page.reload()
    await page.get_by_role("button", name="Add files").wait_for()
    await drag(page, *written(site.folder / "mine", "1", "2", "3", "4", "5", "large"))
    panel = page.get_by_role("region", name="Some files could not be added")
    await expect(panel).to_contain_text("large")
    await expect(panel).to_contain_text("The file is too large: the limit is 5 B.")
    assert len(await jobs_of(site, "measure")) == 5
    await panel.get_by_role("button", name="Dismiss").click()
    await expect(panel).to_have_count(0)


async def test_sending_can_be_stopped(page: Page, site: Site) -> None:
    """Files uploaded before the stop are jobs; the other uploads leave no file."""
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        if "large" in route.request.url:
            await held.wait()
        await route.continue_()

    await page.route("**/api/files*", hold)
    await page.get_by_role("button", name="Add files").wait_for()
    await drag(page, *written(site.folder / "mine", "1", "large", "2"))
    panel = page.get_by_role("region", name="Uploads")
    await expect(panel.get_by_role("status")).to_have_text("1 of 3 uploaded")
    await panel.get_by_role("button", name="Stop uploading large").click()
    await expect(page.get_by_text("Added 2 jobs")).to_be_visible()
    held.set()
    names = [Path(job["params"]["file"]).name for job in await jobs_of(site, "measure")]
    assert names == ["1", "2"]


async def test_files_are_dropped_with_the_chosen_options(page: Page, site: Site) -> None:
    """Invalid options are refused before the upload; valid options are stored."""
    one, other = written(site.folder / "mine", "1", "2")
    await page.get_by_role("button", name="Options").press("Enter")
    dialog = page.get_by_role("dialog", name="Options for measure")
    times = dialog.get_by_label("times")
    await expect(times).to_be_focused()
    for wrong, said in (
        ("many", "Not a number"),
        ("10", "Input should be less than or equal to 9"),
    ):
        await times.fill(wrong)
        await times.press("Enter")
        await expect(times).to_have_accessible_description(said)
        await expect(times).to_be_focused()
    await times.fill("3")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="Options: times: 3")).to_be_focused()
    assert await jobs_of(site, "measure") == []
    await page.reload()
    await page.get_by_role("button", name="Options: times: 3").wait_for()
    await drag(page, other, drop=False)
    await expect(page.get_by_text("Each file becomes a job with times: 3")).to_be_visible()
    await drag(page, other)
    await expect(page.get_by_text("Added 1 job", exact=True)).to_be_visible()
    [job] = await jobs_of(site, "measure")
    assert job["params"]["times"] == 3
    assert (await site.reaches(job["id"], "completed"))["result"] == 6
    await page.get_by_role("button", name="Use defaults").click()
    await expect(page.get_by_role("button", name="Options", exact=True)).to_be_focused()
    await drag(page, one)

    async def is_there() -> bool:
        return len(await jobs_of(site, "measure")) == 2

    await eventually(is_there, what="a job of the second file")
    assert (await jobs_of(site, "measure"))[-1]["params"]["times"] == 1


async def test_no_file_is_sent_with_options_that_the_program_no_longer_accepts(
    page: Page, site: Site
) -> None:
    kept = '{"measure": {"times": 10, "gone": 1}}'
    await page.evaluate("kept => localStorage.setItem('fairlane.files /', kept)", kept)
    await page.reload()
    await page.get_by_role("button", name="Options: times: 10", exact=True).wait_for()
    await drag(page, *written(site.folder / "mine", "1", "2"))
    said = "times: Input should be less than or equal to 9"
    await expect(page.get_by_role("alert")).to_contain_text(said)
    assert list((site.folder / "uploads").glob("*")) == []
    assert await jobs_of(site, "measure") == []


@pytest.mark.parametrize("site", ["several"], indirect=True)
async def test_each_of_several_tasks_has_its_own_options(page: Page, site: Site) -> None:
    await page.get_by_role("button", name="Add files").wait_for()
    await drag(page, *written(site.folder / "mine", "a"))
    which = page.get_by_role("dialog", name="Choose a task for 1 file")
    await which.get_by_role("button", name="Options").click()
    options = page.get_by_role("dialog", name="Options for measure")
    await options.get_by_label("times").fill("5")
    await options.get_by_role("button", name="Save").click()
    await expect(options).to_have_count(0)
    await which.get_by_role("button", name="measure").click()
    await expect(page.get_by_text("Added 1 job", exact=True)).to_be_visible()
    [job] = await jobs_of(site, "measure")
    assert job["params"]["times"] == 5


@pytest.mark.parametrize("site", ["several"], indirect=True)
async def test_a_dialog_lets_the_user_choose_between_several_tasks(page: Page, site: Site) -> None:
    await page.get_by_role("button", name="Add files").wait_for()
    await drag(page, *written(site.folder / "mine", "a", "b"))
    dialog = page.get_by_role("dialog", name="Choose a task for 2 files")
    await dialog.get_by_role("button", name="count").click()
    await expect(page.get_by_text("Added 2 jobs")).to_be_visible()
    assert len(await jobs_of(site, "count")) == 2
    await page.goto("./#/queue?queue=line")  # where only one of them has its jobs
    await drag(page, *written(site.folder / "mine", "c"))
    await expect(page.get_by_text("Added 1 job", exact=True)).to_be_visible()
    assert len(await jobs_of(site, "measure")) == 1


@pytest.mark.parametrize("site", ["none"], indirect=True)
async def test_where_no_task_takes_a_file_alone_that_is_said(page: Page, site: Site) -> None:
    [path] = written(site.folder / "mine", "a")
    said = page.get_by_text("No task has a file as its only required parameter")

    async def listens() -> bool:  # no element of the page shows it
        await drag(page, path, drop=False)
        return await said.is_visible()

    await eventually(listens, what="the page to react to the dragged file")
    await expect(page.get_by_role("button", name="Add files")).to_have_count(0)
    await drag(page, path)
    await expect(page.get_by_role("alert")).to_contain_text(
        "No task has a file as its only required parameter"
    )


async def test_where_the_server_takes_no_files_that_is_said_once(page: Page, site: Site) -> None:
    site.app._uploads = None
    await page.reload()
    await page.get_by_text("No jobs").wait_for()
    await drag(page, *written(site.folder / "mine", "a", "b"))
    await drag(page, site.folder / "mine" / "b")
    said = page.get_by_text("This server accepts no uploads.")
    await expect(said).to_have_count(1)
    await expect(page.get_by_role("alert")).to_contain_text("uploads=")


async def test_no_way_to_send_files_has_a_violation(page: Page, site: Site) -> None:
    site.app._uploads.largest = 1  # type: ignore[union-attr]
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        await held.wait()
        await route.continue_()

    await page.route("**/api/files*", hold)
    await page.reload()
    await page.get_by_role("button", name="Add files").wait_for()
    await drag(page, *written(site.folder / "mine", "1", "large"))
    panel = page.get_by_role("region", name="Uploads")
    await expect(panel).to_contain_text("The file is too large")
    found = {"queue": await violations(page)}
    await page.get_by_role("button", name="Options").click()
    await page.get_by_role("dialog").get_by_label("times").fill("2")
    found["options"] = await violations(page)
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("button", name="Options: times: 2").wait_for()
    found["chosen"] = await violations(page)
    held.set()
    await expect(page.get_by_text("Added 1 job", exact=True)).to_be_visible()
    await page.goto("./#/new?task=join")
    await page.get_by_role("button", name="Choose files").wait_for()
    found["form"] = await violations(page)
    told = [f"{name}: {one}" for name, each in found.items() for one in each]
    assert not told, "\n".join(told)

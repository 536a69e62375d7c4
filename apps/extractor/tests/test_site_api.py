"""The API of the site, in the words of a task."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from msgspec import structs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from apps.extractor.tests.site_program import LINES, LINK, Script, scripted
from fairlane import BadSetting, Conflict, NotFound, Permanent
from fairlane_extractor.program import Extractor
from fairlane_extractor.segments import Line
from fairlane_extractor.settings import Settings
from fairlane_extractor.site import Tasks
from fairlane_extractor.site.file_access import BadInput
from fairlane_extractor.site.progress_socket import messages
from tests.support.eventually import eventually
from tests.support.followers import serving_application
from tests.support.talking import said

TOKENS: Final[dict[str, Any]] = {"token": "may-operate-1", "read_token": "may-read-only-1"}
OTHER: Final = "https://www.bilibili.com/video/BV1xx411c7mD"


class Site:
    def __init__(self, extractor: Extractor, script: Script, client: httpx.AsyncClient) -> None:
        self.extractor = extractor
        self.script = script
        self.client = client

    async def create(self, input: str = LINK, **options: Any) -> Any:
        body = {"input": input, "options": options}
        return said(await self.client.post("/api/tasks", json=body), 201)

    async def show(self, task: str) -> Any:
        return said(await self.client.get(f"/api/tasks/{task}"), 200)

    async def reaches(self, task: str, test: Callable[[Any], bool] | str) -> Any:
        """Return the task once it has a status, or passes a test."""

        async def look() -> Any:
            shown = await self.show(task)
            assert test == "failed" or shown["status"] != "failed", shown["error"]
            good = shown["status"] == test if isinstance(test, str) else test(shown)
            return shown if good else None

        return await eventually(look, what=f"task {task}: {test}")

    async def completed(self, input: str = LINK, **facts: Any) -> Any:
        task = await self.create(input)
        self.script.finish(input, **facts)
        return await self.reaches(task["id"], "completed")


@asynccontextmanager
async def serving(
    folder: Path, *, settings: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[Site]:
    async with scripted(folder, settings or {}) as (extractor, script):
        transport = httpx.ASGITransport(extractor.app.asgi(**options))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield Site(extractor, script, client)


async def test_a_task_goes_through_the_states_of_the_document(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        answer = await site.client.post("/api/tasks", json={"input": LINK})
        task = said(answer, 201)
        assert answer.headers["location"] == f"/api/tasks/{task['id']}"
        assert (task["input"], task["result"], task["error"]) == (LINK, None, None)
        assert list(task["stage_progress"]) == [] or task["status"] == "parsing"
        site.script.progress(LINK, 40, "resolving the link")
        task = await site.reaches(task["id"], lambda t: t["progress"] > 0)
        assert task["status"] == "parsing"
        assert list(task["stage_progress"]) == [
            "parsing", "downloading", "subtitle", "asr", "ocr", "merge",
        ]  # fmt: skip
        stage = task["stage_progress"]["parsing"]
        assert (stage["stage"], stage["status"], stage["progress"]) == ("parsing", "running", 40)
        assert stage["message"] == "resolving the link"
        for status in ("downloading", "extracting"):
            site.script.done(LINK)
            task = await site.reaches(task["id"], status)
        site.script.done(LINK)
        site.script.skip(LINK, "the subtitles have the spoken text")
        task = await site.reaches(task["id"], lambda t: t["stage_progress"]["ocr"]["started_at"])
        assert task["status"] == "extracting"
        stage = task["stage_progress"]["asr"]
        assert (stage["status"], stage["message"]) == (
            "skipped",
            "the subtitles have the spoken text",
        )
        site.script.done(LINK)
        task = await site.reaches(task["id"], "merging")
        site.script.finish(LINK)
        task = await site.reaches(task["id"], "completed")
        assert task["progress"] == 100
        assert (task["result"]["title"], task["result"]["lines"]) == ("A walk", 3)
        assert "media" not in task["result"]
        assert task["result"]["has_media"] is False


async def test_failures_and_cancellations_are_statuses_of_their_own(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        task = await site.create()
        site.script.fail(LINK, Permanent("no such page; try a local upload", code="not_found"))
        task = await site.reaches(task["id"], "failed")
        assert task["error"] == {"code": "not_found", "message": "no such page; try a local upload"}
        assert task["stage_progress"]["parsing"]["status"] == "error"
        assert said(await site.client.post(f"/api/tasks/{task['id']}/cancel"), 200) == {
            "cancelled": False
        }
        running = await site.create(OTHER)
        assert running["platform"] == "bilibili"
        answer = said(await site.client.post(f"/api/tasks/{running['id']}/cancel"), 200)
        assert answer == {"cancelled": True}
        await site.reaches(running["id"], "cancelled")
        said(await site.client.post("/api/tasks/nope/cancel"), 404)


async def test_several_inputs_are_created_together_or_not_at_all(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        body = {"inputs": [LINK, OTHER], "options": {"speech": "never", "language": "zh"}}
        tasks = said(await site.client.post("/api/tasks", json=body), 201)["items"]
        assert [task["input"] for task in tasks] == [LINK, OTHER]
        assert tasks[0]["meta"]["options"]["speech"] == "never"
        assert tasks[1]["meta"]["options"]["language"] == "zh"
        refused: list[tuple[Any, str]] = [
            ({"inputs": [LINK, ""]}, "bad_parameters"),
            ({"inputs": []}, "bad_setting"),
            ({"input": LINK, "inputs": [LINK]}, "invalid_request"),
            ({}, "invalid_request"),
            ({"input": 7}, "invalid_request"),
            ({"input": LINK, "colour": "red"}, "invalid_request"),
            ({"input": LINK, "options": {"speech": "loud"}}, "bad_setting"),
            ({"input": LINK, "options": {"size": 1}}, "bad_setting"),
            ({"input": LINK, "options": {"language": "not a language"}}, "bad_parameters"),
        ]
        for body, code in refused:
            answer = said(await site.client.post("/api/tasks", json=body), 422)
            assert answer["code"] == code, body
        answer = await site.client.post(
            "/api/tasks", content=b"{", headers={"Content-Type": "application/json"}
        )
        assert said(answer, 400)["code"] == "bad_request"
        listed = said(await site.client.get("/api/tasks"), 200)
        assert {task["id"] for task in listed["items"]} == {task["id"] for task in tasks}


async def test_tasks_are_listed_by_status_and_text_in_pages(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        done = await site.completed()
        running = [await site.create(f"{OTHER}?p={n}") for n in range(2)]
        waiting = await site.create("https://v.douyin.com/abc/")
        await site.reaches(waiting["id"], "pending")
        for task in running:
            await site.reaches(task["id"], "parsing")

        async def ids(**query: Any) -> list[str]:
            answer = said(await site.client.get("/api/tasks", params=query), 200)
            return [task["id"] for task in answer["items"]]

        assert await ids(status="completed") == [done["id"]]
        assert await ids(status="pending") == [waiting["id"]]
        assert set(await ids(status="parsing")) == {task["id"] for task in running}
        assert await ids(status="merging") == []
        assert set(await ids(status=["pending", "completed"])) == {waiting["id"], done["id"]}
        assert await ids(q="DOUYIN") == [waiting["id"]]
        first = said(await site.client.get("/api/tasks?limit=3"), 200)
        rest = said(await site.client.get(f"/api/tasks?limit=3&cursor={first['next']}"), 200)
        assert len(first["items"]) == 3
        assert [task["id"] for task in rest["items"]] == [done["id"]]
        shown = await site.show(waiting["id"])
        assert shown["meta"]["waiting_for"] == ['queue "extract" runs 2 of 2']
        for query in ("status=sleeping", "limit=0", "limit=1000", "limit=x", "cursor=x"):
            said(await site.client.get(f"/api/tasks?{query}"), 422)
        assert said(await site.client.get("/api/tasks/nope"), 404)["code"] == "not_found"


async def test_a_prioritized_task_is_the_next_to_run(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        links = [f"{OTHER}?p={n}" for n in range(5)]
        tasks = [await site.create(link) for link in links]
        for task in tasks[:2]:
            await site.reaches(task["id"], "parsing")
        last = tasks[-1]["id"]
        moved = said(await site.client.post(f"/api/tasks/{last}/prioritize"), 200)
        assert moved["meta"]["priority"] == "high"
        site.script.finish(links[0])
        await site.reaches(last, "parsing")
        assert (await site.show(tasks[2]["id"]))["status"] == "pending"
        refused = said(await site.client.post(f"/api/tasks/{last}/prioritize"), 409)
        assert refused["code"] == "illegal_transition"
        said(await site.client.post("/api/tasks/nope/prioritize"), 404)


async def test_an_input_is_extracted_again_as_a_new_task(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        first = await site.create(LINK, speech="never")
        site.script.finish(LINK)
        await site.reaches(first["id"], "completed")
        answer = await site.client.post(
            f"/api/tasks/{first['id']}/reextract", json={"options": {"frames": "never"}}
        )
        again = said(answer, 201)
        assert again["id"] != first["id"]
        assert again["input"] == LINK
        assert (
            again["meta"]["options"] | {"speech": "never", "frames": "never"}
            == (again["meta"]["options"])
        )
        site.script.finish(LINK, title="The second")
        await site.reaches(again["id"], "completed")
        text = said(await site.client.get(f"/api/tasks/{first['id']}/result"), 200)
        assert text["title"] == "A walk"
        said(await site.client.post("/api/tasks/nope/reextract"), 404)


async def test_a_text_outlives_the_history_of_the_queue(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        task = await site.completed()
        result = site.extractor.results.load(task["id"])
        assert result is not None
        site.extractor.results.save(structs.replace(result, id="of-last-year"))
        said(await site.client.get("/api/tasks/of-last-year"), 404)
        said(await site.client.get("/api/tasks/of-last-year/result"), 200)
        again = said(await site.client.post("/api/tasks/of-last-year/reextract"), 201)
        assert again["input"] == LINK


async def test_the_text_comes_in_every_format_and_as_a_file(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        task = await site.completed(title='A "walk" / 河边\n散步')
        address = f"/api/tasks/{task['id']}/result"
        result = said(await site.client.get(address), 200)
        assert [line["text"] for line in result["lines"]] == [line.text for line in LINES]
        kinds = {"txt": "text/plain", "srt": "application/x-subrip", "vtt": "text/vtt",
                 "md": "text/markdown", "json": "application/json"}  # fmt: skip
        for format, kind in kinds.items():
            answer = await site.client.get(address, params={"format": format, "download": "1"})
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith(kind)
            name = answer.headers["content-disposition"]
            assert name.startswith("attachment; filename*=UTF-8''A%20")
            assert name.endswith(f".{format}")
            assert not set('"/\n') & set(name.partition("''")[2])
            assert "欢迎来到河边小镇" in answer.text or format == "json"
        assert said(await site.client.get(f"{address}?format=exe"), 422)["code"] == "unknown_format"
        running = await site.create(OTHER)
        answer = await site.client.get(f"/api/tasks/{running['id']}/result")
        assert said(answer, 404)["code"] == "no_result"


async def test_media_is_sent_in_ranges_and_never_as_a_page(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        site.extractor.settings.media_folder.mkdir()
        site.script.media = tmp_path / "media" / "walk.mp4"
        site.script.media.write_bytes(bytes(range(200)))
        task = await site.completed()
        assert task["result"]["has_media"] is True
        address = f"/api/tasks/{task['id']}/media"
        answer = await site.client.get(address)
        assert answer.headers["content-type"] == "video/mp4"
        assert len(answer.content) == 200
        part = await site.client.get(address, headers={"Range": "bytes=10-19"})
        assert (part.status_code, part.content) == (206, bytes(range(10, 20)))
        assert part.headers["content-range"] == "bytes 10-19/200"
        late = await site.client.get(address, headers={"Range": "bytes=500-"})
        assert late.status_code == 416
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        site.script.media.unlink()
        assert said(await site.client.get(address), 404)["code"] == "media_gone"

        site.script.media = tmp_path / "media" / "page.html"
        site.script.media.write_text("<script>alert(1)</script>")
        page = await site.completed(OTHER)
        answer = await site.client.get(f"/api/tasks/{page['id']}/media")
        assert answer.headers["content-type"] == "application/octet-stream"

        site.script.media = None
        without = await site.completed(f"{OTHER}?p=2")
        answer = await site.client.get(f"/api/tasks/{without['id']}/media")
        assert said(answer, 404)["code"] == "media_removed"


async def test_only_files_for_clients_are_inputs(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    async with serving(tmp_path / "data", settings={"files": (shared,)}) as site:
        uploads = site.extractor.settings.uploads_folder
        (tmp_path / "private").mkdir()
        secret = tmp_path / "private" / "secret.wav"
        secret.write_bytes(b"secret")
        shared.mkdir()
        (shared / "talk.wav").write_bytes(b"talk")
        (shared / "out.wav").symlink_to(secret)
        (shared / "folder").symlink_to(secret.parent)
        (shared / "circle.wav").symlink_to(shared / "circle.wav")
        refused = [
            str(secret), str(secret.with_name("missing.wav")), f" {secret}\n",
            f"{shared}/../private/secret.wav", f"{shared}/folder/../talk.wav",
            str(shared / "out.wav"), str(shared / "folder" / "secret.wav"),
            str(shared / "folder" / "missing.wav"), str(shared), f"{shared}-other/talk.wav",
            "~/secret.wav", "talk.wav", "./talk.wav", f"file://{secret}", "\x00", f"{shared}/\x00",
            str(site.extractor.settings.folder / "results.db"),
        ]  # fmt: skip
        details = set()
        for input in refused:
            answer = said(await site.client.post("/api/tasks", json={"input": input}), 422)
            assert answer["code"] == "bad_input", input
            details.add(answer["detail"].replace(input.strip(), ""))
        assert len(details) == 1
        body = {"inputs": [LINK, str(secret)]}
        assert said(await site.client.post("/api/tasks", json=body), 422)["code"] == "bad_input"
        assert said(await site.client.get("/api/tasks"), 200)["items"] == []
        with pytest.raises(BadInput):
            await Tasks(site.extractor).create_task(str(secret))
        for path in (shared / "talk.wav", shared / "missing.wav", uploads / "any.mp4"):
            assert (await site.create(str(path)))["input"] == str(path)


def test_folders_for_clients_are_read_from_the_environment(tmp_path: Path) -> None:
    environment = {"FAIRLANE_EXTRACT_FILES": f"{tmp_path}:~/talks: :more"}
    read = Settings.from_environment(tmp_path, environment)
    assert read.files == (tmp_path, Path.home() / "talks", Path.cwd() / "more")


async def test_a_file_of_the_terminal_is_extracted_again_and_is_not_sent(tmp_path: Path) -> None:
    own = tmp_path / "own.wav"
    own.write_bytes(b"own")
    async with serving(tmp_path / "data") as site:
        site.script.media = own
        job = await site.extractor.extract.submit(input=str(own))
        site.script.finish(str(own))
        task = await site.reaches(job.id, "completed")
        assert task["result"]["has_media"] is False
        answer = await site.client.get(f"/api/tasks/{job.id}/media")
        assert said(answer, 404)["code"] == "media_not_served"
        again = said(await site.client.post(f"/api/tasks/{job.id}/reextract"), 201)
        assert again["input"] == str(own)


async def test_texts_are_found_by_their_words(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        task = await site.completed()
        hits = said(await site.client.get("/api/search", params={"q": "old bridge"}), 200)["items"]
        assert [(hit["id"], hit["line"], hit["start"]) for hit in hits] == [(task["id"], 1, 2.6)]
        assert "".join(part["text"] for part in hits[0]["parts"]) == hits[0]["text"]
        assert {part["text"] for part in hits[0]["parts"] if part["is_match"]} >= {"bridge"}
        hits = said(await site.client.get("/api/search", params={"q": "河边"}), 200)["items"]
        assert [hit["line"] for hit in hits] == [2]
        assert said(await site.client.get("/api/search?q=submarine"), 200)["items"] == []
        said(await site.client.delete(f"/api/tasks/{task['id']}/result"), 204)
        assert said(await site.client.get("/api/search?q=bridge"), 200)["items"] == []
        said(await site.client.delete(f"/api/tasks/{task['id']}/result"), 404)


async def test_deleting_a_text_deletes_its_downloaded_media_but_no_file_of_the_user(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as site:
        own = tmp_path / "own.mp4"
        own.write_bytes(b"own")
        site.script.media = own
        task = await site.completed()
        downloaded = site.extractor.settings.media_folder / task["id"] / "video.mp4"
        downloaded.parent.mkdir(parents=True)
        downloaded.write_bytes(b"downloaded")
        said(await site.client.delete(f"/api/tasks/{task['id']}/result"), 204)
        assert own.exists()
        assert not downloaded.parent.exists()


async def test_a_deleted_text_is_no_longer_in_its_task(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        task = await site.completed()
        said(await site.client.delete(f"/api/tasks/{task['id']}/result"), 204)
        assert (await site.show(task["id"]))["result"] is None
        [listed] = said(await site.client.get("/api/tasks"), 200)["items"]
        assert (listed["status"], listed["result"]) == ("completed", None)


async def test_an_upload_is_removed_with_the_last_text_that_has_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        names = {}
        for name in ('a "walk" 河边.mp4', 'a "walk" 河边.en.srt', "other.mp4"):
            answer = await site.client.post(
                "/queue/api/files", params={"name": name}, content=b"media",
                headers={"Content-Type": "application/octet-stream"},
            )  # fmt: skip
            names[name] = Path(said(answer, 201)["path"])
        clip, track, other = names.values()
        site.script.media = clip
        first = await site.completed(str(clip))
        second = await site.completed(str(clip))
        last = said(await site.client.post(f"/api/tasks/{first['id']}/reextract"), 201)
        for task in (first, second):
            said(await site.client.delete(f"/api/tasks/{task['id']}/result"), 204)
            assert clip.exists()
        site.script.finish(str(clip))
        await site.reaches(last["id"], "completed")
        said(await site.client.delete(f"/api/tasks/{last['id']}/result"), 204)
        assert [path.exists() for path in (clip, track, other)] == [False, False, True]


async def test_values_of_requests_are_read_strictly(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        for limit in ("0000000010000", "000000001" + "0" * 5000, "201", "05", "+5", "5 ", "５", ""):
            answer = await site.client.get("/api/tasks", params={"limit": limit})
            assert said(answer, 422)["code"] == "invalid_request", limit
        said(await site.client.get("/api/tasks?limit=200"), 200)
        nested = b'{"input":"x","options":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
        for body in (b'{"input":"\xff"}', b'{"\xff":1}', nested):
            answer = await site.client.post(
                "/api/tasks", content=body, headers={"Content-Type": "application/json"}
            )
            assert said(answer, 422)["code"] == "invalid_request"


async def test_the_calls_of_the_document_exist_in_python(tmp_path: Path) -> None:
    async with scripted(tmp_path) as (extractor, script):
        tasks = Tasks(extractor)
        task_id = await tasks.create_task(f"  {LINK}\n", {"frames": "never"})
        task = await tasks.get_task(task_id)
        assert task is not None
        assert task.input == LINK
        assert await tasks.get_task("nope") is None
        assert await tasks.cancel_task("nope") is False
        assert await tasks.cancel_task(task_id) is True
        await extractor.app.jobs.wait(task_id)
        assert await tasks.cancel_task(task_id) is False
        with pytest.raises(Conflict):
            await tasks.prioritize_task(task_id)
        with pytest.raises(NotFound):
            await tasks.prioritize_task("nope")
        with pytest.raises(BadSetting, match="they are speech, frames"):
            await tasks.create_task(LINK, {"colour": "red"})
        assert script.commands(LINK).empty()


async def test_messages_have_the_form_of_the_document(tmp_path: Path) -> None:
    async with serving(tmp_path) as site, sockets(site.extractor) as open_socket:
        task = await site.create()
        async with open_socket(f"?taskId={task['id']}") as socket:
            assert await received(socket) == {"type": "ready"}
            first = await received(socket)
            assert (first["type"], first["task"]["id"]) == ("task", task["id"])
            site.script.progress(LINK, 45, "语音识别进行中...")
            message = await until(socket, lambda m: m.get("progress") == 45)
            assert message | {"total": 0} == {
                "type": "progress", "taskId": task["id"], "stage": "parsing", "progress": 45,
                "message": "语音识别进行中...", "status": "running", "total": 0,
            }  # fmt: skip
            # The end of a stage is sent, also if the next stage has begun at once.
            site.script.done(LINK)
            site.script.progress(LINK, 20)
            ended = await until(socket, lambda m: m.get("status") == "done")
            assert (ended["stage"], ended["progress"]) == ("parsing", 100)
            begun = await until(socket, lambda m: m.get("stage") == "downloading")
            assert (begun["status"], begun["total"]) == ("running", 20)
            other = await site.create(OTHER)
            site.script.progress(OTHER, 5)
            site.script.finish(LINK)
            seen: list[Any] = []
            await until(socket, lambda m: completed(m), seen)
            assert not [m for m in seen if other["id"] in json.dumps(m)]
        async with open_socket("?taskId=nope") as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await until(socket, lambda _: False)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4404
        async with open_socket("") as socket:
            await received(socket)
            third = await site.create(f"{OTHER}?p=3")
            await until(socket, lambda m: m.get("task", {}).get("id") == third["id"])


def completed(message: Any) -> bool:
    return bool(message["type"] == "task" and message["task"]["status"] == "completed")


async def received(socket: ClientConnection) -> Any:
    async with asyncio.timeout(20):
        return json.loads(await socket.recv())


async def until(
    socket: ClientConnection, wanted: Callable[[Any], bool], seen: list[Any] | None = None
) -> Any:
    while True:
        message = await received(socket)
        if seen is not None:
            seen.append(message)
        if wanted(message):
            return message


@asynccontextmanager
async def sockets(extractor: Extractor, **options: Any) -> AsyncIterator[Callable[..., Any]]:
    async with serving_application(extractor.app.asgi(**options)) as url:
        address = f"{url.replace('http', 'ws', 1)}/api/ws"

        def open_socket(query: str, **headers: str) -> Any:
            return connect(f"{address}{query}", additional_headers=headers)

        yield open_socket


async def test_a_follower_that_missed_events_reads_again_and_follows_on(tmp_path: Path) -> None:
    async with (
        scripted(tmp_path) as (extractor, _),
        aclosing(messages(extractor, after=10**6)) as following,
    ):
        assert await anext(following) == {"type": "ready"}
        assert await anext(following) == {"type": "resync"}
        task_id = await Tasks(extractor).create_task(LINK)
        assert (await anext(following))["task"].id == task_id


async def test_the_site_is_behind_the_guard_of_fairlane(tmp_path: Path) -> None:
    async with serving(tmp_path, **TOKENS) as site:
        page = await site.client.get("/", headers={"Accept": "text/html"})
        assert page.headers["location"] == "/queue/?next=%2F"
        for path in ("/api/tasks", "/static/js/main.js", "/api/search?q=a"):
            assert said(await site.client.get(path), 401)["code"] == "unauthorized"
        site.client.headers["Authorization"] = f"Bearer {TOKENS['read_token']}"
        said(await site.client.get("/api/tasks"), 200)
        refused = await site.client.post("/api/tasks", json={"input": LINK})
        assert said(refused, 403)["code"] == "read_only"
        async with sockets(site.extractor, **TOKENS) as open_socket:
            with pytest.raises(InvalidStatus, match="401"):
                await open_socket("")
            async with open_socket("", Authorization=f"Bearer {TOKENS['read_token']}") as socket:
                assert await received(socket) == {"type": "ready"}


async def test_an_upload_becomes_a_task(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        answer = await site.client.post(
            "/queue/api/files?name=my clip.mp4", content=b"media",
            headers={"Content-Type": "application/octet-stream"},
        )  # fmt: skip
        stored = said(answer, 201)
        task = await site.create(stored["path"])
        assert (task["input"], task["platform"]) == (stored["path"], "local")
        assert Path(stored["path"]).read_bytes() == b"media"


async def test_the_page_allows_itself_nothing_foreign(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        page = await site.client.get("/")
        assert page.headers["content-type"].startswith("text/html")
        policy = page.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
        assert "<style" not in page.text
        assert "style=" not in page.text
        script = await site.client.get("/static/js/main.js")
        assert script.headers["content-type"].startswith("text/javascript")
        assert script.headers["cache-control"] == "no-cache"
        again = {"If-None-Match": script.headers["etag"]}
        assert (await site.client.get("/static/js/main.js", headers=again)).status_code == 304
        for path in ("/static/", "/static/../page.py", "/static/%2e%2e/page.py", "/nowhere"):
            answer = await site.client.get(path)
            assert said(answer, 404)["code"] == "no_route"
        wrong = await site.client.delete("/api/tasks")
        assert said(wrong, 405)["code"] == "method_not_allowed"


async def test_unusual_lines_stay_lines(tmp_path: Path) -> None:
    hostile = Line(start=0, end=1, text="--> </script>\n\nWEBVTT", sources=("frame",))
    async with serving(tmp_path) as site:
        task = await site.completed(lines=(hostile,), title="<b>x</b>")
        for format in ("txt", "srt", "vtt", "md"):
            answer = await site.client.get(f"/api/tasks/{task['id']}/result?format={format}")
            assert answer.status_code == 200
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "html" not in answer.headers["content-type"]

"""A site of a program at `/`, beside the console and the API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket

from fairlane import BadSetting, Fairlane
from tests.support.followers import serving_application
from tests.support.talking import Client, reaches, said, talking, talking_to

TOKENS: Final[dict[str, Any]] = {"token": "may-operate-1", "read_token": "may-read-only-1"}
PAGE: Final = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def home(_: Request) -> Response:
    return HTMLResponse("home", headers={"Content-Security-Policy": "default-src 'self'"})


async def save(request: Request) -> Response:
    return JSONResponse(len(await request.body()))


async def path_of(request: Request) -> Response:
    return PlainTextResponse(request.url.path)


async def greet(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("hello")
    await websocket.close()


def site(**options: Any) -> Starlette:
    routes = [
        Route("/", home),
        Route("/api/things", save, methods=["GET", "POST"]),
        Route("/api/files", save, methods=["POST"]),
        WebSocketRoute("/api/ws", greet),
        Route("/{rest:path}", path_of),
    ]
    return Starlette(routes=routes, **options)


def program(*, public: tuple[str, ...] = (), **options: Any) -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0, site=site(), public_paths=public, **options)

    @app.task
    async def hello(name: str) -> str:
        return name

    return app


async def test_the_site_is_at_the_root_and_the_queue_beside_it() -> None:
    async with talking(program()) as client:
        assert (await client.get("/")).text == "home"
        assert (await client.get("/queues/a")).text == "/queues/a"
        assert said(await client.post("/api/things", json={}), 200) == 2
        body = {"task": "hello", "params": {"name": "a"}}
        answer = await client.post("/queue/api/jobs", json=body)
        job = said(answer, 201)
        assert answer.headers["location"] == f"/queue/api/jobs/{job['id']}"
        assert said(await client.get(answer.headers["location"]), 200)["id"] == job["id"]
        document = said(await client.get("/queue/api/openapi.json"), 200)
        assert document["servers"] == [{"url": "/queue"}]
        answer = await client.get("/queue")
        assert (answer.status_code, str(answer.next_request and answer.next_request.url)) == (
            307,
            "http://localhost/queue/",
        )
        assert (await client.get("/queue/")).status_code in (200, 404)  # 404: it is not built
        assert said(await client.get("/healthz"), 200)["status"] == "ok"
        assert (await client.get("/metrics")).status_code == 200
        said(await client.delete("/queue/api/jobs"), 405)


async def test_it_works_under_a_prefix() -> None:
    app = program()
    outer = Starlette(routes=[Mount("/some/where", app.asgi(**TOKENS))])
    transport = httpx.ASGITransport(outer)
    async with app, Client(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/some/where/page?q=a%26b", headers=PAGE)
        assert answer.status_code == 303
        assert answer.headers["location"] == (
            "/some/where/queue/?next=%2Fsome%2Fwhere%2Fpage%3Fq%3Da%2526b"
        )
        answer = await client.post("/some/where/queue/api/session", json={"token": TOKENS["token"]})
        assert "path=/some/where;" in answer.headers["set-cookie"].lower()
        assert (await client.get("/some/where/")).text == "home"


async def test_a_page_without_a_session_leads_to_the_sign_in_and_a_script_gets_a_problem() -> None:
    async with talking_to(program(), **TOKENS) as client:
        answer = await client.get("/a b?q=1", headers=PAGE)
        assert answer.status_code == 303
        assert answer.headers["location"] == "/queue/?next=%2Fa%2520b%3Fq%3D1"
        said(await client.get("/api/things"), 401)
        said(await client.post("/api/things", json={}, headers=PAGE), 401)
        assert (await client.get("/queue/", headers=PAGE)).status_code != 303


async def test_a_session_of_the_queue_is_one_of_the_site_too() -> None:
    async with talking_to(program(), **TOKENS) as client:
        login = {"token": TOKENS["read_token"]}
        answer = await client.post("/queue/api/session", json=login)
        assert "path=/;" in answer.headers["set-cookie"].lower()
        assert (await client.get("/", headers=PAGE)).text == "home"
        assert said(await client.post("/api/things", json={}), 403)["code"] == "read_only"
        await client.delete("/queue/api/session")
        said(await client.get("/api/things"), 401)
    async with talking_to(program(), bearer=TOKENS["token"], **TOKENS) as client:
        said(await client.post("/api/things", json={}), 200)


async def test_the_guard_protects_the_site_as_the_api() -> None:
    async with talking_to(program()) as client:
        foreign = await client.get("/", headers={"Host": "evil.example"})
        assert said(foreign, 403)["code"] == "bad_host"
        foreign = await client.get("/", headers={"Origin": "http://evil.example"})
        assert said(foreign, 403)["code"] == "bad_origin"
        form = await client.post("/api/things", data={"a": "b"})
        assert said(form, 415)["code"] == "not_json"
        answer = await client.get("/api/things")
        assert answer.headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        page = await client.get("/")
        assert page.headers["content-security-policy"] == "default-src 'self'"
    transport = httpx.ASGITransport(program().asgi(), client=("192.0.2.7", 1234))
    async with Client(transport=transport, base_url="http://localhost") as client:
        said(await client.get("/"), 401)


async def test_only_the_queue_accepts_uploads_and_the_site_has_the_bound_of_other_bodies() -> None:
    async with talking_to(program(), largest_body=100) as client:
        octets = {"Content-Type": "application/octet-stream"}
        answer = await client.post("/api/files", content=b"1", headers=octets)
        assert said(answer, 415)["code"] == "not_json"
        answer = await client.post("/api/files", json="x" * 200)
        assert said(answer, 413)["code"] == "too_large"

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield b" " * 10

        kind = {"Content-Type": "application/json"}
        assert (await client.post("/api/files", content=chunks(), headers=kind)).status_code == 413
        said(await client.post("/queue/api/files?name=a", content=b"1", headers=octets), 409)


async def test_public_paths_need_no_token_but_the_right_host() -> None:
    app = program(public=("/", "/static/*"))
    async with talking_to(app, **TOKENS) as client:
        assert (await client.get("/")).text == "home"
        assert (await client.get("/static/a.js")).text == "/static/a.js"
        said(await client.get("/", headers={"Host": "evil.example"}), 403)
        for path in (
            "/static",
            "/staticx",
            "/static/../api/things",
            "/static/%2e%2e/api",
            "/other",
        ):
            request = httpx.Request("GET", httpx.URL("http://localhost", raw_path=path.encode()))
            said(await client.send(request), 401)
        said(await client.get("/queue/api/jobs"), 401)


async def test_websockets_of_the_site_are_guarded() -> None:
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidStatus

    app = program()
    async with app, serving_application(app.asgi(**TOKENS)) as url:
        address = f"{url.replace('http', 'ws', 1)}/api/ws"
        with pytest.raises(InvalidStatus, match="401"):
            await connect(address)
        headers = {"Authorization": f"Bearer {TOKENS['read_token']}"}
        async with connect(address, additional_headers=headers) as websocket:
            assert await websocket.recv() == "hello"


async def test_served_by_itself_the_lifespan_of_the_site_is_inside_that_of_the_engine() -> None:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        seen.append(await (await hello.submit("begin")).wait())
        yield
        seen.append(await (await hello.submit("end")).wait())

    app = Fairlane("memory://", stop_grace_seconds=0, site=site(lifespan=lifespan))
    seen: list[str] = []

    @app.task
    async def hello(name: str) -> str:
        return name

    application = app.asgi()
    transport = httpx.ASGITransport(application)
    async with (
        application.router.lifespan_context(application),
        Client(transport=transport, base_url="http://localhost") as client,
    ):
        assert seen == ["begin"]
        body = {"task": "hello", "params": {"name": "a"}}
        job = said(await client.post("/queue/api/jobs", json=body), 201)
        await reaches_beside(client, job["id"])
    assert seen == ["begin", "end"]


async def reaches_beside(client: Client, job: str) -> None:
    base = httpx.URL("http://localhost/queue")
    async with Client(transport=client._transport, base_url=base) as queue:
        await reaches(queue, job, "completed")


def test_a_wrong_site_is_refused() -> None:
    with pytest.raises(BadSetting, match="must be an ASGI application"):
        Fairlane("memory://", site="static")  # type: ignore[arg-type]
    for path in ("static/*", "/sta*ic", "", "*"):
        with pytest.raises(BadSetting, match="is not known"):
            Fairlane("memory://", site=site(), public_paths=[path])


def test_the_document_of_the_api_is_the_same_with_a_site() -> None:
    assert program().asgi().openapi() == Fairlane("memory://").asgi().openapi()

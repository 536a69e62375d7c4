"""The API mounted in another ASGI application, under a prefix."""

from urllib.parse import quote

import httpx
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from fairlane import Fairlane
from tests.support.talking import Client, reaches, said


def program() -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)

    @app.task
    async def hello(name: str) -> str:
        return name

    return app


async def check(client: Client, prefix: str) -> None:
    answer = await client.post(
        f"{prefix}/api/jobs", json={"task": "hello", "params": {"name": "a"}}
    )
    job = said(answer, 201)
    assert answer.headers["location"] == f"{quote(prefix)}/api/jobs/{job['id']}"
    assert said(await client.get(answer.headers["location"]), 200)["id"] == job["id"]
    answer = await client.delete(f"{prefix}/api/jobs")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    answer = await client.post(
        f"{prefix}/api/schedules",
        json={"name": "s", "task": "hello", "params": {"name": "a"}, "cron": "@daily"},
    )
    said(answer, 201)
    said(await client.get(answer.headers["location"]), 200)
    assert said(await client.get(f"{prefix}/healthz"), 200)["status"] == "ok"
    document = said(await client.get(f"{prefix}/api/openapi.json"), 200)
    assert document.get("servers") == ([{"url": quote(prefix)}] if prefix else None)


async def test_it_is_mounted_under_any_prefix() -> None:
    for outer, prefix in (
        (FastAPI(), "/queue"),
        (Starlette(routes=[]), "/a/b"),
        (Starlette(routes=[]), "/队列 1"),
    ):
        app = program()
        outer.mount(prefix, app.asgi())
        transport = httpx.ASGITransport(outer)
        async with app, Client(transport=transport, base_url="http://localhost") as client:
            await check(client, prefix)


async def test_the_guard_knows_its_open_paths_under_a_prefix() -> None:
    app = program()
    outer = Starlette(routes=[Mount("/queue", app.asgi(token="a-long-token-1"))])  # noqa: S106
    transport = httpx.ASGITransport(outer)
    async with app, Client(transport=transport, base_url="http://localhost") as client:
        said(await client.get("/queue/healthz"), 200)
        said(await client.get("/queue/api/jobs"), 401)
        said(await client.post("/queue/api/session", json={"token": "a-long-token-1"}), 200)
        said(await client.get("/queue/api/jobs"), 200)


async def test_served_by_itself_it_starts_and_stops_the_engine() -> None:
    app = program()
    application = app.asgi()
    transport = httpx.ASGITransport(application)
    async with Client(transport=transport, base_url="http://localhost") as client:
        async with application.router.lifespan_context(application):
            body = {"task": "hello", "params": {"name": "a"}}
            job = said(await client.post("/api/jobs", json=body), 201)
            await reaches(client, job["id"], "completed")
        said(await client.get("/api/jobs"), 503)


def test_what_a_plain_program_started_is_reachable_from_a_server_thread() -> None:
    """The engine's loop is another one than the server's."""
    import asyncio

    app = program()

    async def talk() -> None:
        transport = httpx.ASGITransport(app.asgi())
        async with Client(transport=transport, base_url="http://localhost") as client:
            await check(client, "")

    with app:
        asyncio.run(talk())

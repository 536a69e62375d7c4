"""A client of the HTTP API in the process of its app, without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from fairlane import Fairlane
from tests.support.eventually import eventually

Client = httpx.AsyncClient


@asynccontextmanager
async def talking(
    app: Fairlane, *, bearer: str | None = None, **options: Any
) -> AsyncIterator[Client]:
    """Start the engine and yield an HTTP client for the duration of the block."""
    async with app, talking_to(app, bearer=bearer, **options) as client:
        yield client


@asynccontextmanager
async def talking_to(
    app: Fairlane, *, bearer: str | None = None, **options: Any
) -> AsyncIterator[Client]:
    """Yield an HTTP client for an app that the caller starts."""
    headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
    transport = httpx.ASGITransport(app.asgi(**options))
    async with Client(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


def said(answer: httpx.Response, status: int) -> Any:
    """Return the JSON of a response with this status, or fail with the response."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    return answer.json() if answer.content else None


async def submitted(client: Client, task: str, status: int = 201, **more: Any) -> Any:
    """Submit a job and return the response; the arguments are those of the API."""
    return said(await client.post("/api/jobs", json={"task": task, **more}), status)


async def reaches(client: Client, job: str, *states: str) -> Any:
    """Return the job once it is in one of these states."""

    async def look() -> Any:
        shown = (await client.get(f"/api/jobs/{job}")).json()
        return shown if shown["state"] in states else None

    return await eventually(look, what=f"job {job} {states}")

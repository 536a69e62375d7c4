"""The ASGI application: routers under one roof, and what is the same for all of them."""

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from fairlane.api import (
    console,
    devices,
    files,
    forecasts,
    health,
    jobs,
    lanes,
    limits,
    metrics,
    models,
    problems,
    queues,
    schedules,
    sessions,
    snapshot,
    sse,
    tasks,
    websocket,
    workers,
)
from fairlane.api.auth import Keys
from fairlane.api.dependencies import the_app
from fairlane.api.guard import LARGEST_BODY, Guard
from fairlane.api.responses import answer, prefix_of
from fairlane.app import Fairlane

__all__ = ["ROUTERS", "asgi", "the_app"]

ROUTERS: Final[tuple[APIRouter, ...]] = (
    snapshot.router,
    sse.router,
    websocket.router,
    jobs.router,
    files.router,
    queues.router,
    lanes.router,
    limits.router,
    workers.router,
    devices.router,
    schedules.router,
    forecasts.router,
    tasks.router,
    sessions.router,
)

TAGS: Final = {
    "jobs": "Submit, look, steer.",
    "files": "What jobs work on, and what they have made.",
    "queues": "Pauses and settings; what is set here stays in force over what the code says.",
    "lanes": "What a lane runs, and how it goes on from where it stopped.",
    "limits": "Rates and resources.",
    "workers": "Where jobs run.",
    "devices": "Named things that jobs run on, one at a time on each.",
    "schedules": "Jobs that come by themselves.",
    "forecasts": "When will it run, and what if?",
    "tasks": "What can be submitted.",
    "state": "The present, and what changes it from then on.",
    "sessions": "Cookies for browsers.",
    "health": "For whoever supervises the process.",
}


def asgi(
    app: Fairlane,
    *,
    token: str | None = None,
    read_token: str | None = None,
    hosts: Iterable[str] = (),
    largest_body: int = LARGEST_BODY,
) -> FastAPI:
    """Return the API and the console of an app, to be served or mounted; see `Fairlane.asgi`."""
    allowed = [*hosts, *os.environ.get("FAIRLANE_ALLOWED_HOSTS", "").split(",")]
    keys = Keys(
        token=token or os.environ.get("FAIRLANE_TOKEN"),
        read_token=read_token or os.environ.get("FAIRLANE_READ_TOKEN"),
    )
    uploads = app._uploads
    guard = Guard(
        keys=keys,
        allowed_hosts=allowed,
        largest_body=largest_body,
        largest_upload=None if uploads is None else uploads.largest,
    )
    if uploads is not None:
        uploads.prepare()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if app._is_started:
            yield
        else:
            async with app:
                yield

    application = _Application(
        title="Fairlane",
        summary="A durable task queue: look at it and steer it.",
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        middleware=[Middleware(guard.around)],
    )
    application.state.fairlane = app
    application.state.guard = guard
    problems.install(application, _addresses())
    for router in ROUTERS:
        application.include_router(router, prefix="/api", responses=problems.documented())
    application.include_router(health.router)
    application.include_router(metrics.router)
    application.include_router(console.router)

    @application.get("/api/openapi.json", include_in_schema=False)
    async def document(request: Request) -> Response:
        prefix = prefix_of(request)
        servers = {"servers": [{"url": prefix}]} if prefix else {}
        return answer(application.openapi() | servers)

    return application


def _addresses() -> list[tuple[str, set[str]]]:
    """Return every path that is served, and the methods it takes."""
    found: list[tuple[str, set[str]]] = []
    outside = (("", health.router), ("", metrics.router), ("", console.router))
    for prefix, router in (*(("/api", router) for router in ROUTERS), *outside):
        for route in router.routes:
            if isinstance(route, APIRoute):
                # FastAPI asks the class of a response for its status, which not each can tell.
                route.status_code = route.status_code or 200
                found.append((prefix + route.path, set(route.methods or ())))
    return found


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Describe the API: FastAPI's description, and how to show a token."""
        if self.openapi_schema is None:
            document = super().openapi()
            document["components"]["schemas"]["Problem"] = models.Problem.model_json_schema()
            if self.state.guard.keys.are_set:
                _secure(document)
            self.openapi_schema = document
        return self.openapi_schema


def _secure(document: dict[str, Any]) -> None:
    document.setdefault("components", {})["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
    }
    document["security"] = [{"token": []}]
    for path in ("/healthz", "/api/session"):
        for operation in document["paths"][path].values():
            operation["security"] = []

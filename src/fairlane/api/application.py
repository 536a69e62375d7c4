"""The ASGI application: all routers, with the guard, error handlers and OpenAPI document around."""

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
    tasks,
    workers,
)
from fairlane.api.auth import AccessTokens
from fairlane.api.dependencies import app_of
from fairlane.api.event_stream import sse, websocket
from fairlane.api.guard import LARGEST_BODY, Guard
from fairlane.api.responses import json_response, mount_prefix
from fairlane.api.site import QUEUE_PREFIX, SiteBesideQueue
from fairlane.app import Fairlane

__all__ = ["ROUTERS", "app_of", "asgi"]

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
    "jobs": "Submit, list, show, cancel, retry and move jobs.",
    "files": "Upload input files of jobs, and download the files that jobs made.",
    "queues": "Pauses and settings. A setting made here overrides the one in the code.",
    "lanes": "The saved call of each lane, and its start from a checkpoint.",
    "limits": "Rates and resources.",
    "workers": "The processes that run jobs.",
    "devices": "Named devices that jobs run on, one job at a time on each.",
    "schedules": "Jobs that are submitted at set times.",
    "forecasts": "When each waiting job will start, also with another limit.",
    "tasks": "The tasks that can be submitted, with their parameters.",
    "state": "A snapshot of the whole queue, and the events after it.",
    "sessions": "Cookies for browsers.",
    "health": "Health and metrics of the process, for supervisors and monitoring.",
}


def asgi(
    app: Fairlane,
    *,
    token: str | None = None,
    read_token: str | None = None,
    hosts: Iterable[str] = (),
    largest_body: int = LARGEST_BODY,
) -> FastAPI:
    """Return the ASGI application with the API and the console; see `Fairlane.asgi`."""
    allowed = [*hosts, *os.environ.get("FAIRLANE_ALLOWED_HOSTS", "").split(",")]
    tokens = AccessTokens(
        token=token or os.environ.get("FAIRLANE_TOKEN"),
        read_token=read_token or os.environ.get("FAIRLANE_READ_TOKEN"),
    )
    uploads = app._uploads
    guard = Guard(
        tokens=tokens,
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
        summary="A durable task queue: read its state and control it.",
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        middleware=[Middleware(guard.wrap)],
    )
    application.state.fairlane = app
    application.state.guard = guard
    application.state.prefix_beside_site = ""
    problems.install_error_handlers(application, _served_paths())
    for router in ROUTERS:
        application.include_router(router, prefix="/api", responses=problems.problem_docs())
    application.include_router(health.router)
    application.include_router(metrics.router)
    application.include_router(console.router)

    @application.get("/api/openapi.json", include_in_schema=False)
    async def document(request: Request) -> Response:
        prefix = mount_prefix(request)
        servers = {"servers": [{"url": prefix}]} if prefix else {}
        return json_response(application.openapi() | servers)

    if app._site is None:
        return application
    site_guard = Guard(
        tokens=tokens,
        allowed_hosts=allowed,
        largest_body=largest_body,
        upload_path=None,
        is_public=app._site.is_public,
        sign_in_path=f"{QUEUE_PREFIX}/",
    )
    return SiteBesideQueue(application, app._site, site_guard)


def _served_paths() -> list[tuple[str, set[str]]]:
    """Return every path that this application serves, with its methods."""
    found: list[tuple[str, set[str]]] = []
    outside = (("", health.router), ("", metrics.router), ("", console.router))
    for prefix, router in (*(("/api", router) for router in ROUTERS), *outside):
        for route in router.routes:
            if isinstance(route, APIRoute):
                # FastAPI reads the status from the response class, and not every class has one.
                route.status_code = route.status_code or 200
                found.append((prefix + route.path, set(route.methods or ())))
    return found


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Return FastAPI's OpenAPI document, plus `Problem` and the bearer token."""
        if self.openapi_schema is None:
            document = super().openapi()
            document["components"]["schemas"]["Problem"] = models.Problem.model_json_schema()
            if self.state.guard.tokens.any_set:
                _document_token(document)
            self.openapi_schema = document
        return self.openapi_schema


def _document_token(document: dict[str, Any]) -> None:
    document.setdefault("components", {})["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
    }
    document["security"] = [{"token": []}]
    for path in ("/healthz", "/api/session"):
        for operation in document["paths"][path].values():
            operation["security"] = []

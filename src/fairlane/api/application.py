"""The ASGI application: routers under one roof, and what is the same for all of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request

from fairlane.api import events, socket, state

if TYPE_CHECKING:
    from fairlane.app import Fairlane

ROUTERS: tuple[APIRouter, ...] = (state.router, events.router, socket.router)


def asgi(app: "Fairlane") -> FastAPI:
    """Return the API of an app, to be served or mounted; it starts the engine if nobody has."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if app._is_started:
            yield
        else:
            async with app:
                yield

    application = FastAPI(title="Fairlane", lifespan=lifespan, docs_url=None, redoc_url=None)
    application.state.fairlane = app
    for router in ROUTERS:
        application.include_router(router, prefix="/api")
    return application


def the_app(request: Request) -> "Fairlane":
    """Return the app that a request is about, as a dependency of routes."""
    app: Fairlane = request.app.state.fairlane
    return app

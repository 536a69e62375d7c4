"""A program's site at `/`, with the console and the API under `/queue/`.

The same guard stands before both, with the same tokens, so a site needs no access rules. A browser
that opens a page of the site without a session is sent to the sign-in page of the console, and
returns after it. `/healthz` and `/metrics` keep their paths for supervisors and monitoring.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from fairlane.api.guard import Guard
from fairlane.site import Site

QUEUE_PREFIX: Final = "/queue"
_SHARED_PATHS: Final = ("/healthz", "/metrics")


class SiteBesideQueue(FastAPI):
    """Serves a site and the application of the API; `openapi()` describes the latter."""

    def __init__(self, queue: FastAPI, site: Site, guard: Guard) -> None:
        super().__init__(
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,
            lifespan=lambda _: _lifespan(queue, site),
            routes=[
                *(Route(path, queue) for path in _SHARED_PATHS),
                Route(QUEUE_PREFIX, _add_slash),
                Mount(QUEUE_PREFIX, queue),
                Mount("/", guard.wrap(site.application)),
            ],
        )
        queue.state.prefix_beside_site = QUEUE_PREFIX
        self.state = queue.state
        self._queue = queue

    def openapi(self) -> dict[str, Any]:
        return self._queue.openapi()


@asynccontextmanager
async def _lifespan(queue: FastAPI, site: Site) -> AsyncIterator[None]:
    """Run the engine, and inside of it the lifespan of a site that is made with Starlette."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(queue.router.lifespan_context(queue))
        application = site.application
        if isinstance(application, Starlette):
            await stack.enter_async_context(application.router.lifespan_context(application))
        yield


async def _add_slash(_: Request) -> Response:
    return RedirectResponse(f".{QUEUE_PREFIX}/")

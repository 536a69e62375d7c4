"""The ASGI application of the site; Fairlane's guard stands before it, so it checks no access."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from fairlane_extractor.program import Extractor
from fairlane_extractor.site import page, progress_socket, result_routes, task_routes
from fairlane_extractor.site.problems import HANDLERS


def mount_site(extractor: Extractor) -> None:
    """Serve the page and its API with the app of an extractor."""
    extractor.app.mount(site_application(extractor))


def site_application(extractor: Extractor) -> Starlette:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(extractor.results.prepare)
        await extractor.sweep()
        try:
            yield
        finally:
            await asyncio.to_thread(extractor.results.close)

    application = Starlette(
        routes=[
            *task_routes.ROUTES,
            *result_routes.ROUTES,
            *progress_socket.ROUTES,
            *page.ROUTES,
        ],
        exception_handlers=dict(HANDLERS),
        lifespan=lifespan,
    )
    application.state.extractor = extractor
    return application

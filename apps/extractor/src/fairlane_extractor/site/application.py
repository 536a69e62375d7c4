"""The ASGI application of the site; Fairlane's guard stands before it, so it checks no access."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette

from fairlane_extractor.program import Extractor, build
from fairlane_extractor.settings import Settings
from fairlane_extractor.site import page, progress_socket, result_routes, task_routes
from fairlane_extractor.site.problems import HANDLERS


def build_with_site(settings: Settings | None = None, **options: Any) -> Extractor:
    """Create an extractor whose app serves the page and its API as well."""
    application = site_application()
    extractor = build(settings, site=application, **options)
    application.state.extractor = extractor
    return extractor


def site_application() -> Starlette:
    @asynccontextmanager
    async def lifespan(site: Starlette) -> AsyncIterator[None]:
        extractor: Extractor = site.state.extractor
        await asyncio.to_thread(extractor.results.prepare)
        await extractor.sweep()
        try:
            yield
        finally:
            await asyncio.to_thread(extractor.results.close)

    return Starlette(
        routes=[
            *task_routes.ROUTES,
            *result_routes.ROUTES,
            *progress_socket.ROUTES,
            *page.ROUTES,
        ],
        exception_handlers=dict(HANDLERS),
        lifespan=lifespan,
    )

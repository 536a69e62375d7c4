"""The page: static files without a build step. All its links are relative."""

from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

FOLDER: Final = Path(__file__).parent / "static"
POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "media-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
_REVALIDATED: Final = "no-cache"  # a browser asks before it uses its copy of a file


class RevalidatedFiles(StaticFiles):
    def file_response(self, *args: Any, **named: Any) -> Response:
        answer = super().file_response(*args, **named)
        answer.headers["Cache-Control"] = _REVALIDATED
        return answer


async def page(_: Request) -> Response:
    headers = {"Cache-Control": _REVALIDATED, "Content-Security-Policy": POLICY}
    return FileResponse(FOLDER / "index.html", headers=headers)


ROUTES: Final = [Route("/", page), Mount("/static", RevalidatedFiles(directory=FOLDER))]

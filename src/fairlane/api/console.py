"""The console: files that were built into the package, served at `/`.

They are text without data, the same for everybody, so they ask for no token: the page does, when
the API tells it so. All addresses in them are relative, so they work under any prefix. What is
named after its content is kept by browsers for good; the page itself is asked for anew.
"""

import gzip
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, HTTPException, Request
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

router = APIRouter()

FOLDER: Final = Path(__file__).parent.parent / "console"
ASSETS: Final = "/assets/"
ICON: Final = "/favicon.svg"

POLICY: Final = "; ".join(
    [
        "default-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # Text becomes markup only where Svelte makes its own templates; nobody else can do it.
        "require-trusted-types-for 'script'",
        "trusted-types svelte-trusted-html",
    ]
)
_NAME: Final = re.compile(r"(assets/)?[\w-][\w.-]*")  # no way up, and nothing hidden
_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_PACKED_ALREADY: Final = (".png", ".woff2")
_MISSING: Final = """\
Fairlane runs, but its console was not built into this installation.

In a clone, `make setup` builds it, and so does `pip install .`; both need to reach a registry of
npm packages the first time. The API works without it: see api/openapi.json below this address.
"""


class Asset(Struct, frozen=True):
    content: bytes
    packed: bytes | None  # the same, gzipped
    media_type: str
    etag: str


def is_public(path: str) -> bool:
    """Tell whether a path is one of the console's, which are answered without a token."""
    return path in ("/", ICON) or path.startswith(ASSETS)


@router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def page(request: Request) -> Response:
    asset = await _found("index.html")
    if asset is None:
        return PlainTextResponse(_MISSING, status_code=404)
    return _answer(request, asset, {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY})


@router.api_route(ICON, methods=["GET", "HEAD"], include_in_schema=False)
async def icon(request: Request) -> Response:
    return await _file(request, ICON[1:], "no-cache")


@router.api_route(f"{ASSETS}{{name}}", methods=["GET", "HEAD"], include_in_schema=False)
async def asset(request: Request, name: str) -> Response:
    return await _file(request, f"assets/{name}", "public, max-age=31536000, immutable")


async def _file(request: Request, name: str, caching: str) -> Response:
    asset = await _found(name)
    if asset is None:
        raise HTTPException(404, "there is no such file")
    return _answer(request, asset, {"Cache-Control": caching})


def _answer(request: Request, asset: Asset, headers: dict[str, str]) -> Response:
    headers |= {"ETag": asset.etag, "Vary": "Accept-Encoding"}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = asset.content
    if asset.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content = asset.packed
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type=asset.media_type, headers=headers)


async def _found(name: str) -> Asset | None:
    if not _NAME.fullmatch(name):
        return None
    try:
        return await run_in_threadpool(_look_up, FOLDER / name)
    except OSError:
        return None


def _look_up(path: Path) -> Asset:
    found = path.stat()
    return _read(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=256)
def _read(path: Path, changed_at: int, size: int) -> Asset:
    """Read a file once, until it is another."""
    content = path.read_bytes()
    return Asset(
        content=content,
        packed=None if path.suffix in _PACKED_ALREADY else gzip.compress(content, 9, mtime=0),
        media_type=_TYPES.get(path.suffix, "application/octet-stream"),
        etag=f'"{changed_at:x}-{size:x}"',
    )

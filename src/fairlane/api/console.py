"""The console: static files that are built into the package, served at `/`.

The files hold no data and are the same for every user, so they need no token; the page asks for
one when the API answers 401. All links are relative, so the console works under any prefix.
Browsers cache files named by their content hash for good, and revalidate the page itself.
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
        # Only Svelte's own templates may turn text into markup.
        "require-trusted-types-for 'script'",
        "trusted-types svelte-trusted-html",
    ]
)
_NAME: Final = re.compile(r"(assets/)?[\w-][\w.-]*")  # no "..", and no hidden files
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
Fairlane runs, but this installation does not contain the console.

In a clone, `make setup` or `pip install .` builds it; the first build downloads npm packages. The
API works without the console: see api/openapi.json below this address.
"""


class Asset(Struct, frozen=True):
    content: bytes
    packed: bytes | None  # the same, gzipped
    media_type: str
    etag: str


def is_public(path: str) -> bool:
    """Return whether a path belongs to the console, which needs no token."""
    return path in ("/", ICON) or path.startswith(ASSETS)


@router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def page(request: Request) -> Response:
    asset = await _find_asset("index.html")
    if asset is None:
        return PlainTextResponse(_MISSING, status_code=404)
    return _asset_response(
        request, asset, {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
    )


@router.api_route(ICON, methods=["GET", "HEAD"], include_in_schema=False)
async def icon(request: Request) -> Response:
    return await _asset_or_404(request, ICON[1:], "no-cache")


@router.api_route(f"{ASSETS}{{name}}", methods=["GET", "HEAD"], include_in_schema=False)
async def asset(request: Request, name: str) -> Response:
    return await _asset_or_404(request, f"assets/{name}", "public, max-age=31536000, immutable")


async def _asset_or_404(request: Request, name: str, caching: str) -> Response:
    asset = await _find_asset(name)
    if asset is None:
        raise HTTPException(404, "the console has no such file")
    return _asset_response(request, asset, {"Cache-Control": caching})


def _asset_response(request: Request, asset: Asset, headers: dict[str, str]) -> Response:
    headers |= {"ETag": asset.etag, "Vary": "Accept-Encoding"}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = asset.content
    if asset.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content = asset.packed
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type=asset.media_type, headers=headers)


async def _find_asset(name: str) -> Asset | None:
    if not _NAME.fullmatch(name):
        return None
    try:
        return await run_in_threadpool(_read_asset, FOLDER / name)
    except OSError:
        return None


def _read_asset(path: Path) -> Asset:
    found = path.stat()
    return _read_asset_version(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=256)
def _read_asset_version(path: Path, changed_at: int, size: int) -> Asset:
    """Read a file; the cached copy is used until its time or size changes."""
    content = path.read_bytes()
    return Asset(
        content=content,
        packed=None if path.suffix in _PACKED_ALREADY else gzip.compress(content, 9, mtime=0),
        media_type=_TYPES.get(path.suffix, "application/octet-stream"),
        etag=f'"{changed_at:x}-{size:x}"',
    )

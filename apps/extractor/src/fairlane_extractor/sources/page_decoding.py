"""Packed pages, expanded up to a bound: a megabyte can expand to a gigabyte."""

import io
import urllib.response
import zlib
from typing import Any, Final

from yt_dlp.networking import _urllib

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.sources.request_meter import PAGE_BYTES, Refused

_PACKED: Final = ("gzip", "x-gzip", "deflate")


class BoundedHandler(_urllib.HTTPHandler):  # type: ignore[misc]
    """The HTTP handler of yt-dlp reads and expands a packed body as a whole; this one stops."""

    def http_response(self, req: Any, resp: Any) -> Any:  # noqa: ARG002 - part of its interface
        encodings = [one.strip() for one in (resp.headers.get("Content-Encoding") or "").split(",")]
        packed = [one for one in encodings if one in _PACKED]
        if not packed:
            return resp
        body = _bounded(resp.read(PAGE_BYTES + 1))
        for encoding in reversed(packed):
            body = _expand(body, encoding)
        plain = urllib.response.addinfourl(io.BytesIO(body), resp.headers, resp.url, resp.code)
        plain.msg = resp.msg  # type: ignore[attr-defined]
        return plain

    https_response = http_response


def install_bounded_decoding() -> None:
    """Make the requests of yt-dlp use the bounded handler."""
    _urllib.HTTPHandler = BoundedHandler
    _urllib.SUPPORTED_ENCODINGS[:] = ["gzip", "deflate"]


def _expand(data: bytes, encoding: str) -> bytes:
    if encoding == "deflate":
        # Some servers send the bare data, without the head that the standard demands.
        is_bare = len(data) < 2 or data[0] & 0x0F != 8 or (data[0] << 8 | data[1]) % 31
        expander = zlib.decompressobj(-zlib.MAX_WBITS if is_bare else zlib.MAX_WBITS)
    else:
        expander = zlib.decompressobj(zlib.MAX_WBITS | 16)
    return _bounded(expander.decompress(data, PAGE_BYTES + 1))


def _bounded(data: bytes) -> bytes:
    if len(data) > PAGE_BYTES:
        raise Refused(ChildError("too_large", f"the page has more than {PAGE_BYTES:,} bytes"))
    return data

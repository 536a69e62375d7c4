"""Short links, such as those that apps share, become the link of the page that they lead to."""

import http.client
from typing import Final
from urllib.parse import urljoin, urlsplit

from yt_dlp.networking.exceptions import TransportError

from fairlane_extractor.sources.platforms import is_short
from fairlane_extractor.sources.request_meter import RequestMeter

MOST_REDIRECTS: Final = 5
# Some sites redirect only phones to the page of the media.
_HEADERS: Final = {
    "User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15",
    "Accept": "text/html",
}


def resolve_short_link(link: str, meter: RequestMeter) -> str:
    """Follow redirects until the link is none of a short host; its page is not requested."""
    for _ in range(MOST_REDIRECTS):
        target = _redirect_of(link, meter) if is_short(link) else None
        if target is None:
            break
        link = target
    return link


def _redirect_of(link: str, meter: RequestMeter) -> str | None:
    parts = urlsplit(link)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    deadline = meter.begin()
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=meter.bounds.seconds)
        with meter.timed(deadline):
            connection.request("GET", _target_of(link), headers=_HEADERS)
            target = connection.getresponse().getheader("Location")
            connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise TransportError(cause=error) from error
    return urljoin(link, target) if target else None


def _target_of(link: str) -> str:
    parts = urlsplit(link)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

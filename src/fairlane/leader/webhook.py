"""A hook that posts the ended job to an address; only an answer of 2xx counts as delivered."""

import json
import urllib.request
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit

import msgspec

from fairlane.core.validation import is_seconds, shown
from fairlane.errors import BadSetting
from fairlane.store.views import JobView

Hook = Callable[[JobView], Any]
LONGEST_TIMEOUT_SECONDS: Final = 86_400  # a socket can wait 24 days


class WebhookRefused(Exception):
    """The receiver answered with a status other than 2xx."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Redirects raise an error: urllib would follow one with a GET, and lose the body."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirects)


class Webhook:
    """Posts a job as JSON. The `Idempotency-Key` is the same for every try of one end, and another
    for another end of the same job."""

    def __init__(self, url: str, timeout_seconds: float) -> None:
        self._url = url
        self._timeout_seconds = timeout_seconds

    @property
    def name(self) -> str:
        """The host and a digest: the rest of an address is often a secret."""
        digest = blake2b(self._url.encode(), digest_size=4).hexdigest()
        return f"{urlsplit(self._url).hostname}/{digest}"

    def __call__(self, view: JobView) -> None:
        """Post a job for a hook of the program, which has no notice: its end has a time."""
        ended_at = view.ended_at or view.updated_at
        self.post(view, f"{view.id}-{view.state}-{ended_at.timestamp()}")

    def post(self, view: JobView, key: str) -> None:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        body = json.dumps(msgspec.to_builtins(view)).encode()
        request = urllib.request.Request(  # noqa: S310 - `webhook` has checked the scheme
            self._url, data=body, headers=headers, method="POST"
        )
        try:
            with _OPENER.open(request, timeout=self._timeout_seconds) as answer:
                answer.read(1)
        except HTTPError as error:
            with error:  # it holds the connection
                raise WebhookRefused(f"the receiver answered {error.code} {error.msg}") from None


def webhook(url: str, *, timeout_seconds: float = 10.0) -> Hook:
    """Return a hook that posts the ended job as JSON to an http or https address."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise BadSetting(f"a webhook needs an http or https address, got {url!r}")
    if not is_seconds(timeout_seconds) or timeout_seconds > LONGEST_TIMEOUT_SECONDS:
        raise BadSetting(
            f"timeout_seconds of a webhook is {shown(timeout_seconds)}; it must be a number above "
            f"zero, and at most {LONGEST_TIMEOUT_SECONDS:,} (a day)"
        )
    return Webhook(url, timeout_seconds)

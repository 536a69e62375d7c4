"""Checks of every request, before a page sees it, and the headers of every answer.

A request must name a host of ours: a page of a stranger whose name leads to this address (DNS
rebinding) cannot read the log. Addresses without a name are always ours. A request that changes
something must come from our own pages: its Origin must be this host, and it must have the token of
its session.
"""

import hmac
import secrets
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from flask import Flask, Response, request, session
from werkzeug.sansio.utils import host_is_trusted

from fairlane_dnslog.settings import Settings
from fairlane_dnslog.web.refused import Refused
from fairlane_dnslog.web.session_key import require_session

LARGEST_REQUEST_BYTES: Final = 1_000_000
MOST_FORM_PARTS: Final = 2_000
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)


def install_guard(app: Flask, settings: Settings) -> None:
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_REQUEST_BYTES
    app.config["MAX_FORM_MEMORY_SIZE"] = LARGEST_REQUEST_BYTES
    app.config["MAX_FORM_PARTS"] = MOST_FORM_PARTS
    names = [name.lower() for name in ("localhost", settings.host, *settings.hosts)]

    def check() -> None:
        check_host(request.host, names)
        if request.method not in SAFE_METHODS:
            check_origin()
            check_token()

    app.before_request(check)
    app.after_request(add_headers)


def check_host(host: str, names: list[str]) -> None:
    """Refuse a request to a host name that is not ours."""
    if not is_address(host) and not host_is_trusted(host.lower(), names):
        raise Refused(400, "error.host", host=host[:100])


def is_address(host: str) -> bool:
    """Return whether a host is an IP address, with or without a port."""
    try:
        ip_address(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
    return True


def check_origin() -> None:
    """Refuse a change that another site requests. Browsers send Origin with every change; a
    program that sends none is stopped by the token."""
    origin = request.headers.get("Origin")
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    # A proxy that ends https need not forward the scheme: only the host is compared.
    is_foreign = origin is not None and _host_of(origin) != request.host
    if is_foreign or site not in ("same-origin", "none"):
        raise Refused(403, "error.origin")


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # such as a half address of IPv6
        return None


def csrf_token() -> str:
    """Return the token of this session, for the forms of a page."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(24)
    return str(session["csrf"])


def check_token() -> None:
    require_session()
    got = request.headers.get("X-CSRF-Token") or request.form.get("csrf", "")
    expected = str(session.get("csrf", ""))
    if not expected or not hmac.compare_digest(got.encode(), expected.encode()):
        raise Refused(403, "error.token")


def add_headers(response: Response) -> Response:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    if request.endpoint != "static":
        response.headers["Cache-Control"] = "no-store"
    return response

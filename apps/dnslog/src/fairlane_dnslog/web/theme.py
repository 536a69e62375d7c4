"""The theme of the pages: that of the system, light or dark, as the cookie of a browser says."""

from typing import Final

from flask import request

THEMES: Final = ("auto", "light", "dark")
COOKIE: Final = "dnslog_theme"


def theme() -> str:
    """Return the theme of this request."""
    chosen = request.cookies.get(COOKIE, "")
    return chosen if chosen in THEMES else "auto"

"""Addresses of our own pages, to which a request may be sent back."""

from urllib.parse import urlsplit


def local_address(wanted: str | None, *, otherwise: str) -> str:
    """Return the wanted address if it is a path on this host.

    Browsers read a backslash as a slash and skip control characters, so both are refused.
    """
    if not wanted or len(wanted) > 2000 or "\\" in wanted or not wanted.isprintable():
        return otherwise
    if not wanted.startswith("/") or wanted.startswith("//"):
        return otherwise
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return otherwise
    return otherwise if parts.scheme or parts.netloc else wanted

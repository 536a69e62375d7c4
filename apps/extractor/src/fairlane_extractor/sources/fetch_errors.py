"""Errors of yt-dlp and of its connections, as errors with a code and a remedy.

yt-dlp wraps errors several times, and reports many as text only. So all causes of an error are
searched for the one that explains it.
"""

import errno
import re
from collections.abc import Iterator
from typing import Final

from yt_dlp.networking.exceptions import (
    CertificateVerifyError,
    HTTPError,
    IncompleteRead,
    TransportError,
)
from yt_dlp.utils import (
    ContentTooShortError,
    ExtractorError,
    GeoRestrictedError,
    UnsupportedError,
    UserNotLive,
)

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.sources.address_guard import PrivateAddress
from fairlane_extractor.sources.page_text import printable
from fairlane_extractor.sources.request_meter import Refused, RequestMeter

_MOST_CAUSES: Final = 50
_PREFIX: Final = re.compile(r"^(ERROR:\s*)?(\[[\w:+.-]+\]\s*)?(\S+:\s+)?")
_FOR_DEVELOPERS: Final = re.compile(
    r"(; please report this issue on|\(caused by|\. (Use|Try|See) --| See {2}http|  Use --).*", re.S
)
_BY_WORDS: Final = (
    ("incomplete", r"Downloaded \d+ bytes, expected|bytes read, \d+ more expected"),
    ("empty_file", r"did not get any data|file is empty"),
    ("login_required", r"log ?in|logged|sign in|cookies|registered users|private video|members"),
    ("unsupported_site", r"DRM|piracy|will NOT be supported"),
    (
        "not_found",
        r"not found|unavailable|not available|does ?n[o']t exist|removed|deleted|expired",
    ),
    ("live_stream", r"is live|live event|premieres? in|will begin"),
    ("no_media", r"no video|no media|no formats|format is not available"),
)


def child_error_of(error: BaseException, meter: RequestMeter) -> ChildError:
    """Return the error to report for one that yt-dlp or its connections raised."""
    causes = _all_causes(error, meter)
    known = [found for found in map(_known_error, causes) if found is not None]
    # An address that is refused, or a bound that is exceeded, is also a connection that failed.
    exact = [found for found in known if found.code != "unreachable"]
    if exact or meter.refusal:
        return exact[0] if exact else meter.refusal or exact[0]
    return known[0] if known else _error_by_words(error, causes)


def http_status_of(error: BaseException, meter: RequestMeter) -> int | None:
    """Return the status of the response that caused an error."""
    statuses = (one.status for one in _all_causes(error, meter) if isinstance(one, HTTPError))
    return next((int(status) for status in statuses), None)


def _known_error(cause: BaseException) -> ChildError | None:
    match cause:
        case ChildError():
            return cause
        case Refused():
            return cause.error
        case MemoryError():
            return ChildError("out_of_memory", "the answer of the site needs too much memory")
        case PrivateAddress():
            return ChildError("private_address", str(cause))
        case HTTPError():
            return _error_of_status(int(cause.status))
        case TimeoutError():
            return ChildError("timeout", "the server did not answer in time", retryable=True)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return ChildError("disk_full", "the disk has no space left", retryable=True)
        case CertificateVerifyError():
            return ChildError(
                "unreachable", f"the certificate of the site is not valid: {_clean(str(cause))}"
            )
        case ContentTooShortError() | IncompleteRead():
            return ChildError(
                "incomplete",
                f"the server ended the file before its end: {_clean(str(cause))}",
                retryable=True,
            )
        case TransportError():
            return ChildError(
                "unreachable", f"the server cannot be reached: {_clean(str(cause))}", retryable=True
            )
        case GeoRestrictedError():
            return ChildError("not_found", "the media is not available in this country")
        case UserNotLive():
            return ChildError("live_stream", "the link is a live stream that has not begun")
        case UnsupportedError():
            return ChildError("no_media", "the page shows no video and no sound that can be found")
    return None


def _error_of_status(status: int) -> ChildError:
    if status >= 500:
        return ChildError("http_5xx", f"the server failed with {status}", retryable=True)
    if status == 429:
        return ChildError("http_429", "the site accepts no more requests for now", retryable=True)
    if status == 408:
        return ChildError("timeout", "the server waited too long for the request", retryable=True)
    if status in (401, 403, 407):
        return ChildError(
            "login_required", f"the site refuses access ({status}): it may need a login"
        )
    if status in (404, 410, 451):
        return ChildError("not_found", f"the site has no such page or file ({status})")
    return ChildError("not_found", f"the server answered {status}, and a page was expected")


def _error_by_words(error: BaseException, causes: list[BaseException]) -> ChildError:
    expected = [one for one in causes if isinstance(one, ExtractorError) and one.expected]
    text = _clean(str(expected[0].orig_msg if expected else error))
    if isinstance(error, ValueError):  # of Python: yt-dlp trusts that a number is one
        return ChildError(
            "unsupported_stream", "the page or its playlist has a number that cannot be read"
        )
    for code, words in _BY_WORDS:
        if re.search(words, text, re.IGNORECASE):
            return ChildError(code, f"the site answered: {text}", retryable=code == "incomplete")
    if any(isinstance(one, ExtractorError) for one in causes):
        return ChildError(
            "unsupported_site",
            f"yt-dlp cannot read this page: {text}; a newer yt-dlp may know the site",
        )
    return ChildError("fetch_failed", f"the link could not be read: {text}")


def _all_causes(error: BaseException, meter: RequestMeter) -> list[BaseException]:
    causes = list(_causes(error))
    # A download reports the error of its last request as text; the pages of a site are read after
    # a failed request as well, so their errors count.
    if meter.last_error is not None and not any(isinstance(one, ExtractorError) for one in causes):
        causes += _causes(meter.last_error)
    return causes


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Return an error and all errors behind it, each once, the outer ones first."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_CAUSES:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        info = getattr(cause, "exc_info", None) or (None, None, None)
        waiting += [
            info[1], getattr(cause, "cause", None), getattr(cause, "reason", None),
            *getattr(cause, "unexpected_errors", ()), cause.__cause__, cause.__context__,
        ]  # fmt: skip


def _clean(text: str) -> str:
    """Return a message on one line, without its prefix and advice about options of yt-dlp."""
    text = _FOR_DEVELOPERS.sub("", _PREFIX.sub("", text.strip()))
    return printable(" ".join(text.split()))[:300].rstrip(" .;:") or "no message"

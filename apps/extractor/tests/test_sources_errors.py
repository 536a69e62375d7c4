"""Errors of yt-dlp become errors with a code, whether another try may help, and a clean message."""

import errno
import io
import sys

import pytest
from yt_dlp.networking.common import Response
from yt_dlp.networking.exceptions import (
    CertificateVerifyError,
    HTTPError,
    TransportError,
)
from yt_dlp.utils import (
    DownloadError,
    ExtractorError,
    GeoRestrictedError,
    UnsupportedError,
)

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.sources.address_guard import PrivateAddress
from fairlane_extractor.sources.fetch_errors import child_error_of
from fairlane_extractor.sources.request_meter import Refused, RequestMeter, bounds_of_pages


def make_meter() -> RequestMeter:
    return RequestMeter(bounds_of_pages(1.0))


def wrapped(error: Exception) -> DownloadError:
    """Return an error as yt-dlp raises it: two more around it."""
    try:
        raise ExtractorError("it failed", cause=error, expected=True)
    except ExtractorError:
        return DownloadError("ERROR: [site] x1: it failed", sys.exc_info())


def status(number: int) -> HTTPError:
    return HTTPError(Response(io.BytesIO(), "http://site", {}, number))


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (status(503), "http_5xx", True),
        (status(504), "http_5xx", True),
        (status(429), "http_429", True),
        (status(408), "timeout", True),
        (status(404), "not_found", False),
        (status(410), "not_found", False),
        (status(403), "login_required", False),
        (status(401), "login_required", False),
        (TransportError(cause=TimeoutError("timed out")), "timeout", True),
        (TransportError(cause=ConnectionResetError("reset")), "unreachable", True),
        (TransportError(cause=PrivateAddress("10.0.0.1", 80)), "private_address", False),
        (OSError(errno.ENOSPC, "no space"), "disk_full", True),
        (UnsupportedError("http://site"), "no_media", False),
        (GeoRestrictedError("not here"), "not_found", False),
    ],
)  # fmt: skip
def test_the_cause_of_an_error_decides_its_code(
    error: Exception, code: str, retryable: bool
) -> None:
    found = child_error_of(wrapped(error), make_meter())
    assert (found.code, found.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Sign in to confirm your age. Use --cookies for that", "login_required"),
        ("Private video", "login_required"),
        ("Video unavailable. This video has been removed by the uploader", "not_found"),
        ("This live event will begin in 3 hours", "live_stream"),
        ("No video formats found!; please report this issue on https://x, fill it", "no_media"),
        ("The site is known to use DRM protection. It will NOT be supported", "unsupported_site"),
        ("Unable to extract title; please report this issue on https://x", "unsupported_site"),
    ],
)
def test_a_sentence_of_a_site_has_a_code_and_no_advice_about_options(text: str, code: str) -> None:
    found = child_error_of(
        ExtractorError(text, expected=True, video_id="x1", ie="site"), make_meter()
    )
    assert found.code == code
    assert not any(part in str(found) for part in ("--", "report this", "[site]"))


def test_an_error_that_yt_dlp_reports_as_text_only_is_known_from_the_last_request() -> None:
    meter = make_meter()
    text = "ERROR: \r[download] Got error: Downloaded 5 bytes, expected 9 bytes"
    found = child_error_of(DownloadError(text), meter)
    assert (found.code, found.retryable) == ("incomplete", True)
    meter.last_error = status(500)
    assert child_error_of(DownloadError("ERROR: it failed"), meter).code == "http_5xx"


def test_a_bound_that_was_exceeded_is_the_reason_although_yt_dlp_went_on() -> None:
    meter = make_meter()
    meter.refuse(ChildError("too_large", "it is too large"))
    assert child_error_of(DownloadError("ERROR: no formats"), meter).code == "too_large"


@pytest.mark.parametrize(
    "error",
    [
        ExtractorError("it \x1b[31mfailed\x07 \u202eunavailable", expected=True),
        TransportError("bad status \x1b[31m\x9b2J"),
        CertificateVerifyError("of \x1b[31m"),
        DownloadError("ERROR: half \ud83d"),
    ],
)
def test_a_message_has_no_characters_that_a_terminal_executes(error: Exception) -> None:
    message = str(child_error_of(error, make_meter()))
    assert message.isprintable()
    assert "\ufffd" in message


def test_a_download_ends_after_its_time_although_each_block_arrives() -> None:
    meter = make_meter()
    meter.end_within(3600.0)
    meter.begin()
    meter.count(1)
    meter.end_within(-1.0)
    for step in (meter.begin, lambda: meter.count(1)):
        with pytest.raises(Refused) as raised:
            step()
        assert raised.value.error.code == "too_slow"

"""HTTP requests of one account: paced, limited, retried, with checked redirects."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import httpx
from msgspec import Struct

from fairlane import Permanent, Retryable
from fairlane_archiver.errors import FileError, NoRest, PermanentError, TransientError
from fairlane_archiver.network import Refused
from fairlane_archiver.request_pace import RequestPace, requested_wait
from fairlane_archiver.settings import Settings

MOST_REDIRECTS: Final = 5
LARGEST_PAGE: Final = 16 * 1024 * 1024
PAGE_SECONDS: Final = 120.0
_CODINGS: Final = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_MAY_PASS: Final = frozenset({408, 425, 429})


class Answer(Struct, frozen=True):
    url: str
    headers: httpx.Headers
    body: bytes


class WebClient:
    """The requests of one account. `on_wait` is called for every pause that a server requests."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        pace: RequestPace,
        settings: Settings,
        *,
        on_wait: Callable[[str, float], None],
    ) -> None:
        self._client = client
        self._pace = pace
        self._settings = settings
        self._on_wait = on_wait

    @asynccontextmanager
    async def open(
        self, url: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[httpx.Response]:
        """Yield the response at the end of all redirects, before its body is read.

        Raise a FileError for problems of this URL. Redirects are followed here, because a client
        that follows them reads their bodies, which may be endless.
        """
        with _as_file_errors():
            answer = await self._follow(url, headers or {})
            try:
                yield answer
            finally:
                await answer.aclose()

    async def _follow(self, url: str, headers: Mapping[str, str]) -> httpx.Response:
        request = self._client.build_request("GET", url, headers=headers)
        for _ in range(MOST_REDIRECTS + 1):
            await self._pace.wait(request.url.netloc.decode(), self._on_wait)
            answer = await self._client.send(request, stream=True)
            try:
                self._pace.note(answer)
                if answer.is_success:
                    _check_encoding(answer)
                    return answer
                if not answer.has_redirect_location or answer.next_request is None:
                    raise _bad_status(answer)
                request = answer.next_request
            except BaseException:
                await answer.aclose()
                raise
            await answer.aclose()
        raise PermanentError(f"{url[:200]} leads through more than {MOST_REDIRECTS} redirects")

    async def reach(self, url: str) -> None:
        """Raise unless this address may be visited; the response does not matter."""
        try:
            async with asyncio.timeout(PAGE_SECONDS), self.open(url):
                pass
        except FileError as trouble:
            if isinstance(trouble.__cause__, Refused):
                raise Permanent(str(trouble), code="private_address") from None

    async def read(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Return a whole page. A failure is an error of the account as a whole."""
        waits = self._settings.first_wait_seconds
        for number in range(1, self._settings.tries + 1):
            try:
                async with asyncio.timeout(PAGE_SECONDS + self._settings.longest_wait_seconds):
                    return await self._read(url, headers)
            except (TransientError, TimeoutError) as trouble:
                if number == self._settings.tries:
                    after = trouble.after_seconds if isinstance(trouble, TransientError) else 0.0
                    said = str(trouble) or f"{url[:200]} did not come to its end in time"
                    raise Retryable(said, code="source", after_seconds=after) from None
                await asyncio.sleep(waits * 2 ** (number - 1))
            except FileError as trouble:
                code = "private_address" if isinstance(trouble.__cause__, Refused) else "source"
                raise Permanent(str(trouble), code=code, status=trouble.status) from None
        raise AssertionError("a source is tried at least once")

    async def _read(self, url: str, headers: Mapping[str, str] | None) -> Answer:
        async with self.open(url, headers) as answer:
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > LARGEST_PAGE:
                    raise PermanentError(f"{url[:200]} is longer than {LARGEST_PAGE} bytes")
            return Answer(str(answer.url), answer.headers, bytes(body))


class _as_file_errors:  # noqa: N801 - used as a verb
    """Convert the errors of the HTTP client about one URL into FileErrors."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        match error:
            case Refused():
                raise PermanentError(str(error)) from error
            case httpx.InvalidURL() | httpx.UnsupportedProtocol() | UnicodeError() | ValueError():
                raise PermanentError(f"this is no address of the web: {error}") from error
            case httpx.TimeoutException():
                raise TransientError(f"the server fell silent ({type(error).__name__})") from error
            case httpx.HTTPError() | OSError():
                raise TransientError(
                    f"the connection broke: {str(error) or type(error).__name__}"
                ) from error


def _check_encoding(answer: httpx.Response) -> None:
    """Refuse encodings that can expand to gigabytes before the size is counted."""
    coding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in _CODINGS:
        raise PermanentError(
            f"{answer.url.host} packs its answer as {coding[:60]}, which is not read"
        )


def _bad_status(answer: httpx.Response) -> FileError:
    status = answer.status_code
    said = f"{answer.url.host} answered {status} {answer.reason_phrase}".rstrip()
    if status == 416:
        return NoRest(said)
    if status >= 500 or status in _MAY_PASS:
        return TransientError(said, after_seconds=requested_wait(answer))
    trouble = PermanentError(said)
    trouble.status = status
    return trouble

"""The client of one AdGuard Home server.

Every request is bounded in bytes and in total time, and ends with a checked answer or with one of
the errors in `adguard_errors`. No message contains the password, even if a server echoes it.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec import Raw

from fairlane_dnslog.adguard_answers import (
    ClientsAnswer,
    FilteringAnswer,
    LogAnswer,
    Service,
    ServicesAnswer,
    StatusAnswer,
)
from fairlane_dnslog.adguard_errors import BadAnswer, LoginRefused, ServerUnavailable
from fairlane_dnslog.adguard_network import Deadline, make_http_client
from fairlane_dnslog.entries import (
    AdGuardRow,
    BadRow,
    LogPage,
    RawLogPage,
    clean_text,
    make_entry,
)
from fairlane_dnslog.settings import ServerSettings
from fairlane_dnslog.timestamps import BadTime, parse_time_ns

TOTAL_SECONDS: Final = 30.0
LARGEST_ANSWER: Final = 8 * 1024 * 1024
LONGEST_EXCERPT: Final = 200
LONGEST_WAIT_SECONDS: Final = 900.0

Answer = TypeVar("Answer")


class AdGuard:
    """The requests to one server. Threads may share it; a fork may not."""

    def __init__(
        self,
        server: ServerSettings,
        *,
        total_seconds: float = TOTAL_SECONDS,
        largest_answer: int = LARGEST_ANSWER,
    ) -> None:
        self.name = server.name
        self._server = server = server.with_current_password()
        self._total_seconds = total_seconds
        self._largest_answer = largest_answer
        self._deadline = Deadline()
        self._client = make_http_client(server, self._deadline, stall_seconds=total_seconds)

    def __repr__(self) -> str:
        return f"AdGuard({self.name!r}, {self._server.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def read_log(self, *, older_than: str = "", limit: int = 500) -> LogAnswer:
        """Return a page of the query log. `older_than` must be the time of an existing row: in its
        files AdGuard Home finds no other times, and answers with an empty page.

        A row that cannot be stored is refused by itself. A newest page without any other row is an
        error: another server answers.
        """
        path = "/control/querylog"
        body = self._exchange("GET", path, query={"limit": str(limit), "older_than": older_than})
        entries, refused = [], []
        oldest, rows = self._rows(path, body)
        for row in rows:
            try:
                kept = msgspec.json.decode(row, type=AdGuardRow) if isinstance(row, Raw) else row
                entries.append(make_entry(kept))
            except (BadRow, BadTime, msgspec.MsgspecError) as error:
                refused.append(self._masked(str(error)))
        if refused and not entries and not older_than:
            raise self._bad(path, got=f"a row that is not one of its log: {refused[0]}")
        if oldest and not entries:
            oldest = self._checked_time(path, oldest, "" if refused else None)
        return LogAnswer(tuple(entries), oldest, tuple(refused))

    def _rows(self, path: str, body: bytes) -> tuple[str, Sequence[AdGuardRow | Raw]]:
        """Return `oldest` and the rows, which are not decoded if one has a wrong type."""
        try:
            page = self._decode(path, body, LogPage)
        except BadAnswer as error:
            try:
                raw = self._decode(path, body, RawLogPage)
            except BadAnswer:
                raise error from None
            return raw.oldest, raw.data
        return page.oldest, page.data or ()

    def _checked_time(self, path: str, text: str, default: str | None) -> str:
        """Return a text that is a time; for others return the default, or raise without one."""
        try:
            parse_time_ns(text)
        except BadTime as error:
            if default is not None:
                return default
            raise self._bad(path, got=f"a page that ends at no time: {error}") from None
        return text

    def read_filtering(self) -> FilteringAnswer:
        """Return whether filtering is enabled, and the custom filter rules."""
        return self._read("/control/filtering/status", FilteringAnswer)

    def write_rules(self, rules: Sequence[str]) -> None:
        """Replace all custom filter rules."""
        self._send("POST", "/control/filtering/set_rules", {"rules": list(rules)})

    def read_status(self) -> StatusAnswer:
        """Return the state of the server, and whether protection is enabled."""
        return self._read("/control/status", StatusAnswer)

    def set_protection(self, *, enabled: bool, duration_ms: int = 0) -> None:
        """Enable protection, or disable it: for `duration_ms`, or until it is enabled (0)."""
        body = {"enabled": enabled, "duration": duration_ms}
        self._send("POST", "/control/protection", body)

    def read_services(self) -> list[Service]:
        """Return all services that this server can block."""
        return self._read("/control/blocked_services/all", ServicesAnswer).blocked_services

    def read_clients(self) -> ClientsAnswer:
        """Return the clients that the administrator or the server knows."""
        return self._read("/control/clients", ClientsAnswer)

    def _read(
        self, path: str, kind: type[Answer], query: Mapping[str, str] | None = None
    ) -> Answer:
        return self._decode(path, self._exchange("GET", path, query=query), kind)

    def _decode(self, path: str, body: bytes, kind: type[Answer]) -> Answer:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise self._bad(path, got=f"JSON of another form ({error})") from None

    def _send(self, method: str, path: str, body: object) -> None:
        self._exchange(method, path, content=msgspec.json.encode(body))

    def _exchange(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> bytes:
        """Return the body of a successful answer. The body of a write is not JSON: "OK"."""
        headers = {"Content-Type": "application/json"} if content is not None else {}
        given: dict[str, Any] = {"params": query, "content": content, "headers": headers}
        try:
            with (
                self._deadline.within(self._total_seconds),
                self._client.stream(method, path, **given) as answer,
            ):
                if not answer.is_success:
                    raise self._refusal(path, answer)
                if content is None:
                    self._check_type(path, answer)
                return self._body(path, answer, self._largest_answer)
        except httpx.TimeoutException:
            raise self._unavailable(
                f"{path} was not answered within {self._total_seconds:g} s"
            ) from None
        except httpx.RemoteProtocolError as error:
            raise self._unavailable(f"the answer to {path} broke off: {error}") from None
        except (httpx.HTTPError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise self._unavailable(f"no connection to {self._server.url}: {reason}") from None

    def _body(self, path: str, answer: httpx.Response, largest: int) -> bytes:
        body = bytearray()
        for piece in answer.iter_raw():
            body += piece
            if len(body) > largest:
                raise self._bad(path, got=f"more than {largest} bytes", expected="a smaller page")
        return bytes(body)

    def _check_type(self, path: str, answer: httpx.Response) -> None:
        coding = answer.headers.get("Content-Encoding", "identity").strip().lower()
        if coding != "identity":
            raise self._bad(path, got=f"a body packed as {coding}", expected="a plain body")
        kind = answer.headers.get("Content-Type", "none").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise self._bad(path, got=f"a page of type {kind}")

    def _refusal(self, path: str, answer: httpx.Response) -> Exception:
        status = answer.status_code
        if status in (401, 403):
            return LoginRefused(
                self.name, username=self._masked(self._server.username), status=status
            )
        if status in (408, 425, 429) or status >= 500:
            return self._unavailable(
                f"{path} was answered with {status}",
                after_seconds=_requested_wait(answer),
            )
        if 300 <= status < 400:
            return self._bad(
                path,
                got=f"a redirect ({status}) to {_host(answer.headers.get('Location', ''))}",
                remedy="give the final address as the url of this server",
            )
        try:
            said = self._body(path, answer, 4096).decode("utf-8", "replace").strip()
        except (BadAnswer, httpx.HTTPError):
            said = ""
        return self._bad(path, got=f"{status} {said}".rstrip(), expected="200")

    def _unavailable(self, message: str, *, after_seconds: float = 0.0) -> ServerUnavailable:
        return ServerUnavailable(self.name, self._masked(message), after_seconds=after_seconds)

    def _bad(self, path: str, *, got: str, expected: str = "", remedy: str = "") -> BadAnswer:
        return BadAnswer(
            self.name,
            path,
            got=self._masked(got),
            expected=expected or "the JSON of AdGuard Home",
            remedy=remedy or f"check that {self._server.url} is the address of AdGuard Home itself",
        )

    def _masked(self, text: str) -> str:
        """Return a short text without the login, which a server may echo."""
        login = f"{self._server.username}:{self._server.password}"
        for secret in (b64encode(login.encode()).decode(), self._server.password):
            if secret:
                text = text.replace(secret, "***")
        return clean_text(text, LONGEST_EXCERPT)


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or "another path of this server"
    except ValueError:
        return "an address that cannot be read"


def _requested_wait(answer: httpx.Response) -> float:
    text = answer.headers.get("Retry-After", "")
    return min(float(text), LONGEST_WAIT_SECONDS) if text.isascii() and text.isdigit() else 0.0

"""A queue behind the URL of a running server."""

import json
from collections.abc import AsyncGenerator
from typing import Any, Final

import httpx

from fairlane.cli.exit_codes import Misused, Unanswered, Unreachable
from fairlane.cli.program_name import command
from fairlane.cli.requests import Requests, asked, refused

ANSWER_SECONDS: Final = 60.0
SILENCE_SECONDS: Final = 45.0  # three heartbeats of a stream


def client_of(url: str, token: str | None) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        return httpx.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=ANSWER_SECONDS)
    except (httpx.InvalidURL, ValueError) as error:  # also of a proxy that the environment names
        raise Misused(f"no server can be asked there: {error}") from None


class Server(Requests):
    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client = client
        self._url = url

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any],
        body: Any = None,
        key: str | None = None,
    ) -> Any:
        try:
            return await asked(self._client, method, path, query=query, body=body, key=key)
        except httpx.RequestError as error:
            raise self._unreachable(error) from error

    async def events(
        self, after: int | None = None, /, **narrowed: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Give events as they come; a stream that ends is the caller's to begin again."""
        wanted = narrowed if after is None else {**narrowed, "after": str(after)}
        try:
            async with self._client.stream(
                "GET", "/api/events", params=wanted, timeout=SILENCE_SECONDS
            ) as answer:
                if answer.status_code != 200:
                    await answer.aread()
                    raise refused(answer)
                async for line in answer.aiter_lines():
                    if line.startswith("data:"):
                        yield json.loads(line[5:])
        except httpx.RequestError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> Unreachable:
        said = str(error) or type(error).__name__
        if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return Unanswered(f"the server at {self._url} was asked and gave no answer ({said})")
        return Unreachable(
            f"no server answers at {self._url} ({said}); start one with {command('serve')}, or "
            "name another with --url"
        )

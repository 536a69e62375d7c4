"""A queue behind the URL of a running server."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx

from fairlane.cli.endings import Unreachable
from fairlane.cli.requests import Requests, asked, refused

ANSWER_SECONDS: Final = 60.0
SILENCE_SECONDS: Final = 45.0  # three heartbeats of a stream


def client_of(url: str, token: str | None) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=ANSWER_SECONDS)


class Server(Requests):
    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client = client
        self._url = url

    async def ask(self, method: str, path: str, *, query: dict[str, Any], body: Any = None) -> Any:
        try:
            return await asked(self._client, method, path, query=query, body=body)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    async def events(self, **narrowed: str) -> AsyncIterator[dict[str, Any]]:
        """Give events as they come; a stream that ends is the caller's to begin again."""
        try:
            async with self._client.stream(
                "GET", "/api/events", params=narrowed, timeout=SILENCE_SECONDS
            ) as answer:
                if answer.status_code != 200:
                    await answer.aread()
                    raise refused(answer)
                async for line in answer.aiter_lines():
                    if line.startswith("data:"):
                        yield json.loads(line[5:])
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> Unreachable:
        said = str(error) or type(error).__name__
        return Unreachable(
            f"no server answers at {self._url} ({said}); start one with `fairlane serve`, or name "
            "another with --url"
        )

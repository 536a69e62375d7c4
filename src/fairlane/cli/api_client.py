"""The client of the HTTP API that every verb is written against.

With a URL the requests go to a running server (`http_client`). With a database this process answers
them itself (`embedded`).
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import Any


class ApiClient(ABC):
    """Send requests as JSON and return the JSON of their responses; a problem is raised."""

    async def get(self, path: str, **query: Any) -> Any:
        return await self.request("GET", path, query=query)

    async def post(
        self, path: str, body: Any = None, *, key: str | None = None, **query: Any
    ) -> Any:
        """Send a POST; a second one with the same idempotency key changes nothing more."""
        return await self.request("POST", path, body=body, query=query, key=key)

    async def patch(self, path: str, body: Any, **query: Any) -> Any:
        return await self.request("PATCH", path, body=body, query=query)

    async def put(self, path: str, body: Any, **query: Any) -> Any:
        return await self.request("PUT", path, body=body, query=query)

    async def delete(self, path: str, **query: Any) -> Any:
        return await self.request("DELETE", path, query=query)

    @abstractmethod
    async def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any],
        body: Any = None,
        key: str | None = None,
    ) -> Any: ...

    @abstractmethod
    def events(
        self, after: int | None = None, /, **filters: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield events above the number `after` (from now on if None), of one job or queue.

        The stream may end or fail; the caller starts it again (`follow.events_after`).
        """

"""Requests to the HTTP contract: JSON in, JSON out, and a problem is raised."""

import json
from abc import ABC, abstractmethod
from typing import Any, Final

import httpx

from fairlane.cli.exit_codes import Misused, Refused

UNDECIDED: Final = 202  # it is kept, and nobody has said yet what becomes of it


class Requests(ABC):
    """The verbs of HTTP, as JSON in and out; a problem is raised."""

    async def get(self, path: str, **query: Any) -> Any:
        return await self.ask("GET", path, query=query)

    async def post(
        self, path: str, body: Any = None, *, key: str | None = None, **query: Any
    ) -> Any:
        """Send something; under a key, the same again changes nothing more."""
        return await self.ask("POST", path, body=body, query=query, key=key)

    async def patch(self, path: str, body: Any, **query: Any) -> Any:
        return await self.ask("PATCH", path, body=body, query=query)

    async def put(self, path: str, body: Any, **query: Any) -> Any:
        return await self.ask("PUT", path, body=body, query=query)

    async def delete(self, path: str, **query: Any) -> Any:
        return await self.ask("DELETE", path, query=query)

    @abstractmethod
    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any],
        body: Any = None,
        key: str | None = None,
    ) -> Any: ...


async def asked(
    client: httpx.AsyncClient,
    method: str,
    path: str,
    *,
    query: dict[str, Any],
    body: Any,
    key: str | None = None,
) -> Any:
    wanted = {name: value for name, value in query.items() if value is not None}
    headers = {} if key is None else {"Idempotency-Key": key}
    content = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        content = _written(body)
    try:
        answer = await client.request(method, path, params=wanted, content=content, headers=headers)
    except httpx.InvalidURL as error:
        raise Misused(f"this cannot be asked for: {error}") from None
    if answer.status_code >= 300 or answer.status_code == UNDECIDED:
        raise refused(answer)
    try:
        return answer.json() if answer.content else None
    except ValueError:
        said = f"what answers at {path} there is not Fairlane; check the URL"
        raise Refused({"status": 502, "detail": said}) from None


def _written(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except RecursionError:
        raise Misused("the parameters are nested too deep to be sent") from None


def refused(answer: httpx.Response) -> Refused:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or not (problem.get("detail") or problem.get("title")):
        said = answer.text[:200] or answer.reason_phrase
        problem = {"detail": f"the server answered {answer.status_code}: {said}"}
    return Refused({"status": answer.status_code, **problem})

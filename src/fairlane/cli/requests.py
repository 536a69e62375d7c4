"""Requests to the HTTP contract: JSON in, JSON out, and a problem is raised."""

from typing import Any, Final

import httpx

from fairlane.cli.endings import Refused

UNDECIDED: Final = 202  # it is kept, and nobody has said yet what becomes of it


class Requests:
    """The verbs of HTTP, as JSON in and out; a problem is raised."""

    async def get(self, path: str, **query: Any) -> Any:
        return await self.ask("GET", path, query=query)

    async def post(self, path: str, body: Any = None, **query: Any) -> Any:
        return await self.ask("POST", path, body=body, query=query)

    async def patch(self, path: str, body: Any, **query: Any) -> Any:
        return await self.ask("PATCH", path, body=body, query=query)

    async def put(self, path: str, body: Any, **query: Any) -> Any:
        return await self.ask("PUT", path, body=body, query=query)

    async def delete(self, path: str, **query: Any) -> Any:
        return await self.ask("DELETE", path, query=query)

    async def ask(self, method: str, path: str, *, query: dict[str, Any], body: Any = None) -> Any:
        raise NotImplementedError


async def asked(
    client: httpx.AsyncClient, method: str, path: str, *, query: dict[str, Any], body: Any
) -> Any:
    wanted = {name: value for name, value in query.items() if value is not None}
    sent = {} if body is None else {"json": body}
    answer = await client.request(method, path, params=wanted, **sent)
    if answer.status_code >= 400 or answer.status_code == UNDECIDED:
        raise refused(answer)
    return answer.json() if answer.content else None


def refused(answer: httpx.Response) -> Refused:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or not (problem.get("detail") or problem.get("title")):
        said = answer.text[:200] or answer.reason_phrase
        problem = {"detail": f"the server answered {answer.status_code}: {said}"}
    return Refused({"status": answer.status_code, **problem})

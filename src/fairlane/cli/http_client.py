"""The API client for the URL of a running server, and the requests of both API clients."""

import json
from collections.abc import AsyncGenerator
from typing import Any, Final

import httpx

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import ApiProblem, NoResponse, Unreachable, UsageProblem
from fairlane.cli.program_name import command_text

RESPONSE_SECONDS: Final = 60.0
SILENCE_SECONDS: Final = 45.0  # three heartbeats of a stream
UNDECIDED: Final = 202  # the server stored the request, and no leader has decided it yet


def open_connection(url: str, token: str | None) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        return httpx.AsyncClient(
            base_url=url.rstrip("/"), headers=headers, timeout=RESPONSE_SECONDS
        )
    except (httpx.InvalidURL, ValueError) as error:  # also of a proxy that the environment names
        raise UsageProblem(f"the URL cannot be used: {error}") from None


class HttpApiClient(ApiClient):
    def __init__(self, connection: httpx.AsyncClient, url: str) -> None:
        self._connection = connection
        self._url = url

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any],
        body: Any = None,
        key: str | None = None,
    ) -> Any:
        try:
            return await send_request(
                self._connection, method, path, query=query, body=body, key=key
            )
        except httpx.RequestError as error:
            raise self._unreachable(error) from error

    async def events(
        self, after: int | None = None, /, **filters: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        query = filters if after is None else {**filters, "after": str(after)}
        try:
            async with self._connection.stream(
                "GET", "/api/events", params=query, timeout=SILENCE_SECONDS
            ) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise problem_in(response)
                async for line in response.aiter_lines():
                    if line.startswith("data:"):
                        yield json.loads(line[5:])
        except httpx.RequestError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> Unreachable:
        reason = str(error) or type(error).__name__
        if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return NoResponse(f"the server at {self._url} did not answer the request ({reason})")
        return Unreachable(
            f"no server answers at {self._url} ({reason}); start one with {command_text('serve')}, "
            "or name another with --url"
        )


async def send_request(
    connection: httpx.AsyncClient,
    method: str,
    path: str,
    *,
    query: dict[str, Any],
    body: Any,
    key: str | None = None,
) -> Any:
    """Send one request and return the JSON of its response; raise if that is a problem."""
    params = {name: value for name, value in query.items() if value is not None}
    headers = {} if key is None else {"Idempotency-Key": key}
    content = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        content = _encode(body)
    try:
        response = await connection.request(
            method, path, params=params, content=content, headers=headers
        )
    except httpx.InvalidURL as error:
        raise UsageProblem(f"the request has an invalid URL: {error}") from None
    if response.status_code >= 300 or response.status_code == UNDECIDED:
        raise problem_in(response)
    try:
        return response.json() if response.content else None
    except ValueError:
        detail = (
            f"the response to {path} is not JSON, so this is not a Fairlane server; check the URL"
        )
        raise ApiProblem({"status": 502, "detail": detail}) from None


def _encode(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except RecursionError:
        raise UsageProblem("the parameters are nested too deeply to be encoded as JSON") from None


def problem_in(response: httpx.Response) -> ApiProblem:
    """Return the problem that a response carries, or one made of its status and text."""
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or not (problem.get("detail") or problem.get("title")):
        text = response.text[:200] or response.reason_phrase
        problem = {"detail": f"the server answered {response.status_code}: {text}"}
    return ApiProblem({"status": response.status_code, **problem})

"""Bodies as strict JSON: no NaN, no infinity, no half of a surrogate pair, and read fast."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute

DEEPEST: Final = 100


class StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return _not_too_deep(msgspec.json.decode(await self.body()))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # What the framework expects of a body that is not JSON, without the body itself.
            raise json.JSONDecodeError(str(error), "", 0) from None


def _not_too_deep(value: Any) -> Any:
    """Return the value, unless what comes later would find no end in it."""
    level: list[Any] = [[value]]
    for _ in range(DEEPEST):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return value
    raise RecursionError(f"it is nested deeper than {DEEPEST} levels")


class StrictRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly

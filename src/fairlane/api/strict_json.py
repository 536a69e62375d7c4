"""Strict JSON bodies: no NaN, no infinity, no lone surrogates, no deep nesting."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute

MAX_DEPTH: Final = 100


class StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return _check_depth(msgspec.json.decode(await self.body()))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # The framework expects this error; it gets no copy of the body, which may be secret.
            raise json.JSONDecodeError(str(error), "", 0) from None


def _check_depth(value: Any) -> Any:
    """Return the value, or raise if its nesting would exhaust the stack of later code."""
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return value
    raise RecursionError(f"the nesting is deeper than {MAX_DEPTH} levels")


class StrictRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly

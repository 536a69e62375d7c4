"""Answers as JSON, written straight from our own structs."""

from typing import Any

import msgspec
from starlette.responses import Response

_encode = msgspec.json.Encoder(enc_hook=str).encode


def answer(
    value: Any, *, status: int = 200, media_type: str = "application/json", **headers: str
) -> Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(_encode(value), status_code=status, media_type=media_type, headers=named)

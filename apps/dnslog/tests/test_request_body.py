"""The body of a request is read whole, within a time and a size, before a page gets a thread."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from fairlane_dnslog.request_body import BodyRefused, read_body
from fairlane_dnslog.web.request_guard import LARGEST_REQUEST_BYTES


class Client:
    """A client that sends these parts of a body, and then nothing."""

    def __init__(self, parts: Iterable[bytes], *, ends: bool) -> None:
        parts = list(parts)
        last = len(parts) - 1 if ends else -1
        self._messages = [
            {"type": "http.request", "body": part, "more_body": number != last}
            for number, part in enumerate(parts)
        ]

    async def __call__(self) -> dict[str, Any]:
        if not self._messages:
            await asyncio.Event().wait()
        return self._messages.pop(0)


def scope(**headers: str) -> dict[str, Any]:
    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {"type": "http", "headers": pairs}


async def test_the_pages_get_the_whole_body_at_once() -> None:
    receive = await read_body(scope(), Client([b"one ", b"two"], ends=True))
    assert await receive() == {"type": "http.request", "body": b"one two", "more_body": False}


async def test_a_body_that_does_not_end_is_refused() -> None:
    with pytest.raises(BodyRefused, match="did not arrive") as caught:
        await read_body(scope(), Client([b"user="], ends=False), seconds=0.01)
    assert caught.value.status == 408


async def test_a_body_without_a_size_is_bounded() -> None:
    part = b"x" * (LARGEST_REQUEST_BYTES // 2)
    with pytest.raises(BodyRefused, match="more than") as caught:
        await read_body(scope(), Client([part, part, b"x"], ends=False))
    assert caught.value.status == 413


async def test_a_body_that_announces_too_much_is_left_to_the_pages_unread() -> None:
    client = Client([b"x"], ends=False)
    about = scope(content_length=str(LARGEST_REQUEST_BYTES + 1))
    assert await read_body(about, client) is client

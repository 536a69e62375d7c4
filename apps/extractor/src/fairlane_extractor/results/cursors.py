"""Cursors of pages: the order of their last row, as text for an address."""

import base64
import binascii
from typing import Final, TypeVar

import msgspec

from fairlane import BadSetting

T = TypeVar("T")

LAST: Final = 2**63 - 1  # beyond the ids of all passages


def encode_cursor(position: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def decode_cursor(cursor: str, kind: type[T]) -> T:
    try:
        data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.json.decode(data, type=kind)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise BadSetting(
            f'"{cursor[:40]}" is not a cursor; expected the `next` of an earlier page of this list'
        ) from None


def passages_before(cursor: str | None) -> int:
    """Return the id of the passage that a page of hits follows, in descending order."""
    return LAST if cursor is None else max(0, min(decode_cursor(cursor, int), LAST))


def results_before(cursor: str | None) -> tuple[float, str]:
    """Return the time and the id of the result that a page of results follows, newest first."""
    return (float("inf"), "") if cursor is None else decode_cursor(cursor, tuple[float, str])

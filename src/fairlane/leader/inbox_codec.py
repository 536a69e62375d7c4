"""What goes through the inbox table, and back, as text."""

from typing import Any, Final

import msgspec

from fairlane.core.inputs import Command, FromWorker, Input
from fairlane.errors import FairlaneError
from fairlane.runtime.storable_text import storable
from fairlane.store.protocol import InboxRow

_decode_command: Final = msgspec.json.Decoder(Command)
_decode_said: Final = msgspec.json.Decoder(list[FromWorker])


def decode_row(row: InboxRow) -> list[Input]:
    """Return what a row says: one command, or a list of what a worker said."""
    if row.body.startswith("["):
        return [*_decode_said.decode(row.body)]
    return [_decode_command.decode(row.body)]


def split_row(row: InboxRow) -> list[tuple[list[Input], list[InboxRow]]]:
    """Return what can be tried alone: each thing that a worker said, then the row without them."""
    if not row.body.startswith("["):
        return [([], [row])]
    try:
        said = decode_row(row)
    except ValueError:
        return [([], [row])]
    return [*(([one], []) for one in said), ([], [msgspec.structs.replace(row, body="[]")])]


def describe_input(said: Input) -> str:
    """Write an input for a person to look at."""
    try:
        return msgspec.json.encode(said).decode()
    except (TypeError, ValueError, RecursionError):
        return storable(repr(said))  # the very thing that could not be written


def encode_answer(answer: Any) -> str:
    """Write an answer for another process; `decode_answer` reads it there."""
    body = {"problem": answer.as_problem()} if isinstance(answer, FairlaneError) else {"ok": answer}
    return msgspec.json.encode(body).decode()


def decode_answer(text: str) -> Any:
    body = msgspec.json.decode(text)
    return FairlaneError.from_problem(body["problem"]) if "problem" in body else body["ok"]

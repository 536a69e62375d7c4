"""Rows of the inbox table and their answers, as text."""

from typing import Any, Final

import msgspec

from fairlane.core.inputs import Command, FromWorker, Input
from fairlane.errors import FairlaneError
from fairlane.runtime.storable_text import storable
from fairlane.store.protocol import InboxRow

_decode_command: Final = msgspec.json.Decoder(Command)
_decode_said: Final = msgspec.json.Decoder(list[FromWorker])


def decode_row(row: InboxRow) -> list[Input]:
    """Return the inputs of a row: one command, or a list of worker reports."""
    if row.body.startswith("["):
        return [*_decode_said.decode(row.body)]
    return [_decode_command.decode(row.body)]


def split_row(row: InboxRow) -> list[tuple[list[Input], list[InboxRow]]]:
    """Return the parts of a row that are replayed alone: each report, then the empty row."""
    if not row.body.startswith("["):
        return [([], [row])]
    try:
        input = decode_row(row)
    except ValueError:
        return [([], [row])]
    return [*(([one], []) for one in input), ([], [msgspec.structs.replace(row, body="[]")])]


def describe_input(input: Input) -> str:
    """Return an input as text for a person, also if JSON cannot encode it."""
    try:
        return msgspec.json.encode(input).decode()
    except (TypeError, ValueError, RecursionError):
        return storable(repr(input))


def encode_answer(answer: Any) -> str:
    """Return an answer as text for another process; `decode_answer` reads it there."""
    body = {"problem": answer.as_problem()} if isinstance(answer, FairlaneError) else {"ok": answer}
    return msgspec.json.encode(body).decode()


def decode_answer(text: str) -> Any:
    body = msgspec.json.decode(text)
    return FairlaneError.from_problem(body["problem"]) if "problem" in body else body["ok"]

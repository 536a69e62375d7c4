"""Requests that the pages refuse, with a status, a text of `texts/` and its values."""

from typing import Any


class Refused(Exception):
    def __init__(self, status: int, text: str, **values: Any) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.values = values

"""Secrets taken out of a text in which they may have slipped in.

What a task marks as secret is shown nowhere. But an exception may quote the address it could not
reach, token and all, and a library may log it: so what an attempt says in words has the values of
its own secret parameters replaced.
"""

import json
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote, quote_plus

HIDDEN: Final = "**********"  # as secret parameters are shown everywhere
_SHORTEST: Final = 4  # what is shorter is no secret, and is part of too many words


class Mask:
    def __init__(self, secrets: Iterable[str]) -> None:
        spelt = {way for secret in secrets if len(secret) >= _SHORTEST for way in _spelt(secret)}
        self._secrets = sorted(spelt, key=len, reverse=True)  # one may be a part of another

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def hide(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        return text


def mask_of(names: Iterable[str], params: str) -> Mask | None:
    """Return the mask for parameters as they are stored; None if there is nothing to hide."""
    wanted = tuple(names)
    if not wanted:
        return None
    values: dict[str, Any] = json.loads(params)
    return Mask(text for name in wanted if isinstance(text := values.get(name), str)) or None


def _spelt(secret: str) -> set[str]:
    """Return how a text may show up: as it is, or inside something that quotes it."""
    return {
        secret,
        repr(secret)[1:-1],
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
    }

"""Redaction of secrets: parameters by their names, and texts by the secrets' values.

A parameter that its task marks as secret is masked in every view. An exception may still quote an
address with a token in it, and a library may log it: so the messages and log lines of an attempt
have the values of its own secret parameters replaced.
"""

import json
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import Struct

MASK: Final = "**********"
_SHORTEST: Final = 4  # a shorter value is part of too many words, and too short to be a secret


class _SecretNames(Struct):
    secrets: list[str] = []


_decode_names: Final = msgspec.json.Decoder(_SecretNames).decode


def without_secrets(params: dict[str, Any], options: str) -> dict[str, Any]:
    """Mask the parameters that a submission's `options` name as secret."""
    return _mask(params, names) if (names := secret_names(options)) else params


def secret_names(options: str) -> list[str]:
    """Return the names of the parameters that a submission's `options` name as secret."""
    return [] if options in ("", "{}") else _decode_names(options).secrets


def saved_call_without_secrets(saved: dict[str, Any] | None) -> dict[str, Any] | None:
    """Mask the secret parameters of the call that is saved for a lane."""
    if not saved or "secrets" not in saved:
        return saved
    return {"task": saved["task"], "params": _mask(saved["params"], saved["secrets"])}


def _mask(params: dict[str, Any], secrets: Iterable[str]) -> dict[str, Any]:
    return {
        name: MASK if name in secrets and value is not None else value
        for name, value in params.items()
    }


class Redactor:
    """Replace the values of secrets in texts, in every spelling that a text may quote them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        long_enough = [secret for secret in secrets if len(secret) >= _SHORTEST]
        spellings = {spelling for secret in long_enough for spelling in _spellings(secret)}
        # The longest first: one secret may be a part of another.
        self._spellings = sorted(spellings, key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._spellings)

    def redact(self, text: str) -> str:
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, MASK)
        return text


def redactor_for(names: Iterable[str], params: str) -> Redactor | None:
    """Return the redactor for stored parameters; None if there are no secrets among them."""
    secrets = tuple(names)
    if not secrets:
        return None
    values: dict[str, Any] = json.loads(params)
    texts = (text for name in secrets if isinstance(text := values.get(name), str))
    return Redactor(texts) or None


def _spellings(secret: str) -> set[str]:
    """Return a secret as it is, and as it appears in a repr, in JSON and in an address."""
    return {
        secret,
        repr(secret)[1:-1],
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
    }

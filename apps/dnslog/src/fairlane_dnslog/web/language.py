"""The texts of the pages, in English and Chinese.

The language of a request is that of its cookie, then the first known one of Accept-Language.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from flask import g, request

LANGUAGES: Final = {"en": "English", "zh": "中文"}
COOKIE: Final = "dnslog_language"


@cache
def load_texts(language: str) -> Mapping[str, str]:
    """Return all texts of a language by their dotted names."""
    source = files("fairlane_dnslog.web").joinpath("texts", f"{language}.toml")
    return dict(_flattened(tomllib.loads(source.read_text(encoding="utf-8"))))


def _flattened(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in table.items():
        if isinstance(value, dict):
            found += _flattened(value, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", value))
    return found


def language() -> str:
    """Return the language of this request."""
    if "language" not in g:
        chosen = request.cookies.get(COOKIE, "")
        if chosen not in LANGUAGES:
            chosen = request.accept_languages.best_match(list(LANGUAGES), "en") or "en"
        g.language = chosen
    found: str = g.language
    return found


def text(name: str, /, **values: object) -> str:
    """Return a text in the language of this request."""
    found = load_texts(language())[name]
    return found.format_map(values) if values else found


def text_or(name: str, otherwise: str) -> str:
    """Return a text whose name contains a value of the network, or that value itself."""
    return load_texts(language()).get(name, otherwise)

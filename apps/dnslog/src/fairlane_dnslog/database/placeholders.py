"""Translation of `:name` placeholders for psycopg."""

import re
from functools import lru_cache
from typing import Final

# Literals, quoted names, comments and casts are copied as they are.
_TOKEN: Final = re.compile(
    r"""(?P<copied>'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|::)|:(?P<name>[A-Za-z_]\w*)""",
)


@lru_cache(maxsize=512)
def for_psycopg(sql: str) -> str:
    """Return the statement with `%(name)s` placeholders."""
    return _TOKEN.sub(_translated, sql.replace("%", "%%"))


def _translated(token: re.Match[str]) -> str:
    return token["copied"] or f"%({token['name']})s"

"""The address of a database, with options of Fairlane; its text never shows the password.

    postgresql://user:password@host:5432/database?fairlane_schema=fairlane

- `fairlane_schema`: the schema of Fairlane's tables; several applications in one database each have
  their own.
- `fairlane_leader`: behind a pooler, the address of the server itself, with percent-encoding (also
  `FAIRLANE_LEADER_DATABASE`). A leader and a listener each need a dedicated session.
- `fairlane_notify=off`: no NOTIFY is sent or received; processes poll instead, so jobs start later.
- `fairlane_pooler=on`: a pooler assigns each transaction to any connection. Fairlane detects it
  without this option if its backend ids differ from those of the server.

All other options are the driver's, such as `sslmode`.
"""

import os
import re
from copy import copy
from hashlib import blake2b
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from fairlane.errors import BadSetting

SCHEMA: Final = "fairlane"
LEADER_VARIABLE: Final = "FAIRLANE_LEADER_DATABASE"
EXPECTED: Final = "postgresql://user:password@host:5432/database"

_OPTIONS: Final = ("fairlane_leader", "fairlane_notify", "fairlane_pooler", "fairlane_schema")
_SWITCH: Final = {"on": True, "off": False}


class Address:
    def __init__(self, text: str) -> None:
        parts = _split(text)
        options = parse_qsl(parts.query, keep_blank_values=True)
        ours = {name: value for name, value in options if name.startswith("fairlane_")}
        theirs = [(name, value) for name, value in options if name not in ours]
        for name in ours:
            if name not in _OPTIONS:
                raise BadSetting(
                    f'"{name}" is not an option of a database address; known: {", ".join(_OPTIONS)}'
                )
        self.dsn = urlunsplit(parts._replace(query=urlencode(theirs)))
        self.schema = _schema(ours.get("fairlane_schema", SCHEMA))
        given = ours.get("fairlane_leader")
        self.direct_dsn = given or os.environ.get(LEADER_VARIABLE) or self.dsn
        source = f"fairlane_leader of {_shown(parts, theirs, SCHEMA)}" if given else LEADER_VARIABLE
        self.notifies = _switched("fairlane_notify", ours.get("fairlane_notify", "on"))
        self.has_pooler = _switched("fairlane_pooler", ours.get("fairlane_pooler", "off"))
        self.shown = _shown(parts, theirs, self.schema)
        self._shown_direct = self.shown
        if self.direct_dsn != self.dsn:
            self._shown_direct = _shown_direct(self.direct_dsn, self.schema, source)
        self._secrets = {*_secrets_in(self.dsn), *_secrets_in(self.direct_dsn)}

    def __str__(self) -> str:
        return self.shown

    @property
    def of_leader(self) -> "Address":
        """The same address, with the text of the one that the leader uses and its source."""
        shown = copy(self)
        shown.shown = self._shown_direct
        return shown

    @property
    def is_direct(self) -> bool:
        """Whether the address that all processes use is that of the server itself."""
        return self.direct_dsn == self.dsn and not self.has_pooler

    def without_secrets(self, message: object) -> str:
        """Return a text without the passwords of this address."""
        text = str(message)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def sql(self, text: str) -> str:
        """Return a statement for this schema; statements are written for the default one."""
        return text if self.schema == SCHEMA else text.replace("fairlane.", f"{self.schema}.")

    def lock_key(self, purpose: str) -> int:
        """Return the number of an advisory lock; each database has separate locks."""
        name = f"fairlane {purpose} {self.schema}"
        return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), signed=True)

    @property
    def channel(self) -> str:
        return f"fairlane_{self.schema}"


def _split(text: str) -> SplitResult:
    """Split an address; an invalid one is not quoted, because it may contain a password."""
    problem = BadSetting(
        "the address of the database cannot be read; characters of a user name or password that "
        f"mean something there must be percent-encoded (expected {EXPECTED})"
    )
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise problem from None
    if parts.fragment or "@" in parts.path or "@" in parts.query.partition("fairlane_leader=")[0]:
        raise problem
    return parts


def _schema(name: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", name) or name.startswith("pg_"):
        raise BadSetting(
            f'"{name}" cannot be the name of a schema; use up to 40 lower-case letters, digits and '
            "underscores, beginning with a letter and not with pg_"
        )
    return name


def _switched(name: str, value: str) -> bool:
    if value not in _SWITCH:
        raise BadSetting(f'{name} is "{value}" in the address of the database; use on or off')
    return _SWITCH[value]


def _secrets_in(dsn: str) -> set[str]:
    parts = urlsplit(dsn)
    given = {value for name, value in parse_qsl(parts.query) if name == "password"}
    _, separator, password = parts.netloc.rpartition("@")[0].partition(":")
    if separator:
        given |= {password, unquote(password)}
    return given - {""}


def _shown_direct(dsn: str, schema: str, source: str) -> str:
    try:
        parts = _split(dsn)
    except BadSetting as error:
        raise BadSetting(f"{source}: {error.message}") from None
    options = parse_qsl(parts.query, keep_blank_values=True)
    ours = [name for name, _ in options if name.startswith("fairlane_")]
    if parts.scheme not in ("postgres", "postgresql") or ours:
        wrong = f'the option "{ours[0]}"' if ours else f'the scheme "{parts.scheme}"'
        raise BadSetting(
            f"{source} has {wrong}; expected the plain address of the server itself, {EXPECTED}"
        )
    return f"{_shown(parts, options, schema)} (from {source})"


def _shown(parts: SplitResult, options: list[tuple[str, str]], schema: str) -> str:
    user, separator, place = parts.netloc.rpartition("@")
    kept = [(name, value) for name, value in options if name in ("host", "port")]
    if schema != SCHEMA:
        kept.append(("fairlane_schema", schema))
    netloc = f"{user.partition(':')[0]}{separator}{place}"
    return urlunsplit(("postgresql", netloc, parts.path, urlencode(kept, safe="/"), ""))

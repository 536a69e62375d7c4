"""Tokens, their roles, and the browser sessions that replace them.

The server stores no sessions: a session cookie is its start time, signed with the token. It is
valid in every process and after every restart, until it expires or the token changes.
"""

import hmac
import time
from typing import ClassVar, Final, Literal

from fairlane.errors import BadSetting

Role = Literal["read", "operate"]

SHORTEST_TOKEN: Final = 8


class AccessTokens:
    SESSION_SECONDS: ClassVar[int] = 30 * 86_400

    def __init__(self, *, token: str | None, read_token: str | None) -> None:
        given: tuple[tuple[Role, str | None], ...] = (("operate", token), ("read", read_token))
        self._tokens: dict[Role, bytes] = {role: text.encode() for role, text in given if text}
        for role, known in self._tokens.items():
            _check_token(role, known)

    @property
    def any_set(self) -> bool:
        return bool(self._tokens)

    def role_of(self, token: str) -> Role | None:
        """Return the role of a token. The comparison takes the same time for every wrong token."""
        if not self._tokens:
            return "operate"
        found: Role | None = None
        for role, known in reversed(self._tokens.items()):
            if hmac.compare_digest(known, token.encode(errors="replace")):
                found = role
        return found

    def session_cookie(self, role: Role) -> tuple[str, str]:
        """Return the name and the value of a new session cookie for this role."""
        began = str(int(time.time()))
        known = self._tokens.get(role, b"")
        return _cookie_name(known), f"{began}.{_sign(known, f'session {role} {began}')}"

    @property
    def cookie_names(self) -> set[str]:
        return {_cookie_name(known) for known in self._tokens.values()}

    def role_from_cookies(self, cookies: dict[str, str]) -> Role | None:
        for role, known in self._tokens.items():
            began, _, signature = cookies.get(_cookie_name(known), "").partition(".")
            right = _sign(known, f"session {role} {began}")
            if hmac.compare_digest(right.encode(), signature.encode(errors="replace")):
                return role if time.time() - int(began) < self.SESSION_SECONDS else None
        return None


def _cookie_name(token: bytes) -> str:
    """Return the cookie name of a token: servers on one host share cookies, so names differ."""
    return f"fairlane_{_sign(token, 'name')[:8]}"


def _sign(token: bytes, text: str) -> str:
    return hmac.new(token, text.encode(errors="replace"), "sha256").hexdigest()


def _check_token(role: Role, token: bytes) -> None:
    if len(token) < SHORTEST_TOKEN:
        raise BadSetting(
            f"the token to {role} has {len(token)} characters; it needs at least "
            f"{SHORTEST_TOKEN}. Make one with "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'`"
        )
    if any(byte <= 32 or byte >= 127 for byte in token):
        raise BadSetting(
            f"the token to {role} contains a space or a character outside ASCII, which an HTTP "
            "header cannot carry; use ASCII letters, digits and punctuation"
        )

"""Tokens, their roles, and the sessions that stand for them in a browser.

Nothing is remembered: a session is the time it began, signed with its token. It holds in every
process and after every restart, and ends with the token.
"""

import hmac
import time
from typing import ClassVar, Final, Literal

from fairlane.errors import BadSetting

Role = Literal["read", "operate"]

SHORTEST_TOKEN: Final = 8


class Keys:
    SESSION_SECONDS: ClassVar[int] = 30 * 86_400

    def __init__(self, *, token: str | None, read_token: str | None) -> None:
        given: tuple[tuple[Role, str | None], ...] = (("operate", token), ("read", read_token))
        self._tokens: dict[Role, bytes] = {role: text.encode() for role, text in given if text}
        for role, known in self._tokens.items():
            _check(role, known)

    @property
    def are_set(self) -> bool:
        return bool(self._tokens)

    def role_of(self, token: str) -> Role | None:
        """Return what a token allows; the time this takes does not tell how near it came."""
        if not self._tokens:
            return "operate"
        found: Role | None = None
        for role, known in reversed(self._tokens.items()):
            if hmac.compare_digest(known, token.encode(errors="replace")):
                found = role
        return found

    def session(self, role: Role) -> tuple[str, str]:
        """Return the name and the value of a cookie that stands for a token from now on."""
        began = str(int(time.time()))
        known = self._tokens.get(role, b"")
        return _name(known), f"{began}.{_sign(known, f'session {role} {began}')}"

    @property
    def cookie_names(self) -> set[str]:
        return {_name(known) for known in self._tokens.values()}

    def role_in(self, cookies: dict[str, str]) -> Role | None:
        for role, known in self._tokens.items():
            began, _, signature = cookies.get(_name(known), "").partition(".")
            right = _sign(known, f"session {role} {began}")
            if hmac.compare_digest(right.encode(), signature.encode(errors="replace")):
                return role if time.time() - int(began) < self.SESSION_SECONDS else None
        return None


def _name(token: bytes) -> str:
    """Servers on one machine share the cookies of its name, so each token has a name of its own."""
    return f"fairlane_{_sign(token, 'name')[:8]}"


def _sign(token: bytes, text: str) -> str:
    return hmac.new(token, text.encode(errors="replace"), "sha256").hexdigest()


def _check(role: Role, token: bytes) -> None:
    if len(token) < SHORTEST_TOKEN:
        raise BadSetting(
            f"the token to {role} has {len(token)} characters; take at least {SHORTEST_TOKEN}, "
            "such as `python -c 'import secrets; print(secrets.token_urlsafe())'` prints"
        )
    if any(byte <= 32 or byte >= 127 for byte in token):
        raise BadSetting(
            f"the token to {role} holds a space or a character beyond ASCII, which a header "
            "cannot carry; take letters, digits and signs"
        )

"""The lock-out of AdGuard Home: five wrong logins of one address within a minute, and for fifteen
minutes right ones are refused too."""

import binascii
import hmac
from base64 import b64decode
from typing import Final

MOST_ADDRESSES: Final = 10_000
FAILURE_SECONDS: Final = 60.0


class Login:
    def __init__(
        self, username: str, password: str, *, attempts: int = 5, block_seconds: float = 900.0
    ) -> None:
        self._right = f"{username}:{password}".encode()
        self._attempts = attempts
        self._block_seconds = block_seconds
        self._failures: dict[str, tuple[int, float]] = {}  # count and end, by address

    def accepts(self, header: str, address: str, now: float) -> bool:
        """Return whether the login in an Authorization header is right and not locked out."""
        count, ends_at = self._failures.get(address, (0, 0.0))
        if now >= ends_at:
            self._failures.pop(address, None)
            count = 0
        elif count >= self._attempts:
            return False
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "basic":
            return False  # a request without a login is no attempt
        if hmac.compare_digest(_decoded(token), self._right):
            self._failures.pop(address, None)
            return True
        count += 1
        if count >= self._attempts:
            ends_at = now + self._block_seconds
        elif count == 1:
            ends_at = now + FAILURE_SECONDS
        if address in self._failures or len(self._failures) < MOST_ADDRESSES:
            self._failures[address] = (count, ends_at)
        return False

    def locked_out(self, address: str, now: float) -> bool:
        count, ends_at = self._failures.get(address, (0, 0.0))
        return count >= self._attempts and now < ends_at

    def forget_failures(self) -> None:
        self._failures.clear()


def _decoded(token: str) -> bytes:
    try:
        return b64decode(token, validate=True)
    except (binascii.Error, ValueError):
        return b""

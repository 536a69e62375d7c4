"""Errors of requests to an AdGuard Home server.

AdGuardError            the request failed; the message begins with the name of the server
├── LoginRefused        401 or 403: final, because five wrong logins lock this address out
├── ServerUnavailable   no connection, no answer in time, 429 or 5xx: a later request may succeed
└── BadAnswer           an answer that AdGuard Home does not send: final for this pull
"""

from typing import ClassVar


class AdGuardError(Exception):
    code: ClassVar[str] = "adguard"

    def __init__(self, server: str, message: str) -> None:
        super().__init__(f'server "{server}": {message}')
        self.server = server


class LoginRefused(AdGuardError):
    code: ClassVar[str] = "login_refused"

    def __init__(self, server: str, *, username: str, status: int) -> None:
        super().__init__(
            server,
            f'the login of user "{username}" was refused ({status}); requests are paused, because '
            "AdGuard Home locks an address out for 15 minutes after 5 wrong logins, and then "
            "refuses right ones too; correct the username or the password, wait until a lock-out "
            "has ended, and resume the server",
        )
        self.username = username
        self.status = status


class ServerUnavailable(AdGuardError):
    code: ClassVar[str] = "unavailable"

    def __init__(self, server: str, message: str, *, after_seconds: float = 0.0) -> None:
        super().__init__(server, message)
        self.after_seconds = after_seconds  # the wait that the server requested


class BadAnswer(AdGuardError):
    code: ClassVar[str] = "bad_answer"

    def __init__(self, server: str, path: str, *, got: str, expected: str, remedy: str) -> None:
        super().__init__(server, f"{path} answered {got}; expected {expected}; {remedy}")
        self.path = path
        self.got = got
        self.expected = expected
        self.remedy = remedy

"""The key that signs session cookies, one for all processes on a database."""

import secrets
from typing import Final

from flask import Flask, Request, Response, request, session
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface, SessionMixin

from fairlane_dnslog.database import Database, DatabaseError

NAME: Final = "session_key"


def read_session_key(database: Database) -> str:
    """Return the key of this database; create it if there is none."""
    with database.reading() as tx:
        row = tx.row("SELECT value FROM secret WHERE name = :name", name=NAME)
    if row is None:
        with database.transaction() as tx:
            tx.run(
                "INSERT INTO secret (name, value) VALUES (:name, :value) "
                "ON CONFLICT (name) DO NOTHING",
                name=NAME,
                value=secrets.token_hex(32),
            )
            row = tx.row("SELECT value FROM secret WHERE name = :name", name=NAME)
    assert row is not None
    return str(row["value"])


class StoredKeySession(SecureCookieSession):
    """A session; `problem` is the reason why its cookie could not be read."""

    problem: DatabaseError | None = None


class StoredKeySessions(SecureCookieSessionInterface):
    """Sessions in a signed cookie, whose key is read from the database at the first request.

    While the database is away and the key unknown, requests go on without a session: the style of
    the page about the lost database needs none.
    """

    session_class = StoredKeySession

    def __init__(self, database: Database) -> None:
        self._database = database

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        if not app.secret_key:
            try:
                app.secret_key = read_session_key(self._database)
            except DatabaseError as error:
                unread = StoredKeySession()
                unread.problem = error
                return unread
        return super().open_session(app, request)

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        if app.secret_key:
            super().save_session(app, session, response)

    def get_cookie_secure(self, app: Flask) -> bool:  # noqa: ARG002 - Flask's signature
        """Return true behind https; a home without a certificate must be able to log in too."""
        return request.is_secure


def require_session() -> None:
    """Raise the error of the database if the session of this request could not be read."""
    problem = getattr(session, "problem", None)
    if problem is not None:
        raise problem

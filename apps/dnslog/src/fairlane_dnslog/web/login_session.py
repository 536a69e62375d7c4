"""Logins: a row for each, which the cookie names.

A signed cookie alone cannot be taken back. So the login is in the database, and its row is deleted
by the logout and by a new password of the account.
"""

import secrets
import time
from typing import Final

from flask import g, session
from msgspec import convert

from fairlane_dnslog.database import Database, Transaction
from fairlane_dnslog.web.accounts import Account
from fairlane_dnslog.web.session_key import require_session

LOGIN_DAYS: Final = 30
_KEY: Final = "login"
_FIND: Final = """
SELECT account.name, account.password_hash, account.role
FROM login_session JOIN account ON account.name = login_session.account
WHERE login_session.id = :id AND login_session.began_at > :since
"""


def begin_session(tx: Transaction, account: str) -> None:
    """Log the browser of this request in."""
    tx.run("DELETE FROM login_session WHERE began_at <= :since", since=_oldest())
    session.clear()  # also the token of the form, which another person may know
    session.permanent = True
    session[_KEY] = secrets.token_urlsafe(24)
    tx.run(
        "INSERT INTO login_session (id, account, began_at) VALUES (:id, :account, :now)",
        id=session[_KEY],
        account=account,
        now=time.time(),
    )
    g.pop("visitor", None)


def end_session(tx: Transaction) -> None:
    """Log the browser of this request out."""
    tx.run("DELETE FROM login_session WHERE id = :id", id=str(session.get(_KEY, "")))
    session.clear()


def find_session(database: Database) -> Account | None:
    """Return the account of this request; None without a login, or after its end."""
    require_session()
    if not isinstance(session.get(_KEY), str):
        return None
    with database.reading() as tx:
        row = tx.row(_FIND, id=session[_KEY], since=_oldest())
    if row is None:
        session.clear()
        return None
    return convert(row, Account)


def _oldest() -> float:
    return time.time() - LOGIN_DAYS * 86_400

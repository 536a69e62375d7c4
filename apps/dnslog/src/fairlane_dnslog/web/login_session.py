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
# The update changes nothing. It waits for a change of the account that is being written, and finds
# no row afterwards.
_LOCK_ACCOUNT: Final = """
UPDATE account SET name = name WHERE name = :name AND password_hash = :password_hash
"""
_ADD: Final = "INSERT INTO login_session (id, account, began_at) VALUES (:id, :account, :now)"
_FIND: Final = """
SELECT account.name, account.password_hash, account.role
FROM login_session JOIN account ON account.name = login_session.account
WHERE login_session.id = :id AND login_session.began_at > :since
"""


def store_login(tx: Transaction, account: Account) -> str | None:
    """Store a login and return its id; None if the password has changed since it was compared."""
    password_hash = account.password_hash
    if not tx.run(_LOCK_ACCOUNT, name=account.name, password_hash=password_hash):
        return None
    tx.run("DELETE FROM login_session WHERE began_at <= :since", since=_oldest())
    login = secrets.token_urlsafe(24)
    tx.run(_ADD, id=login, account=account.name, now=time.time())
    return login


def begin_session(login: str) -> None:
    """Log the browser of this request in."""
    session.clear()  # also the token of the form, which another person may know
    session.permanent = True
    session[_KEY] = login
    g.pop("visitor", None)


def end_session(database: Database) -> None:
    """Log the browser of this request out."""
    with database.transaction() as tx:
        tx.run("DELETE FROM login_session WHERE id = :id", id=str(session.get(_KEY, "")))
    session.clear()


def find_session(database: Database) -> Account | None:
    """Return the account of this request; None without a login, or after its end.

    The cookie of an ended login stays: its deletion could meet a newer one in the browser.
    """
    require_session()
    if not isinstance(session.get(_KEY), str):
        return None
    with database.reading() as tx:
        row = tx.row(_FIND, id=session[_KEY], since=_oldest())
    return None if row is None else convert(row, Account)


def _oldest() -> float:
    return time.time() - LOGIN_DAYS * 86_400

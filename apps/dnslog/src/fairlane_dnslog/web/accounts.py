"""Accounts: names, password hashes and roles."""

import re
from functools import cache
from typing import Final, Literal

from msgspec import Struct, convert
from msgspec.structs import replace
from werkzeug.security import check_password_hash, generate_password_hash

from fairlane_dnslog.database import Transaction

Role = Literal["editor", "viewer"]
ROLES: Final[tuple[Role, ...]] = ("editor", "viewer")
SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 200
MOST_ACCOUNTS: Final = 1_000
METHOD: Final = "scrypt"
_NAME: Final = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,58}[^\s\x00-\x1f\x7f])?")

_STORE: Final = """
INSERT INTO account (name, password_hash, role) VALUES (:name, :password_hash, :role)
ON CONFLICT (name) DO UPDATE SET password_hash = excluded.password_hash, role = excluded.role
"""


class BadAccount(ValueError):
    """A name, password or role that is not acceptable; the message contains the remedy."""

    def __init__(self, field: Literal["name", "password", "role"], message: str) -> None:
        super().__init__(message)
        self.field = field


class Account(Struct, frozen=True):
    name: str
    password_hash: str
    role: Role

    @property
    def may_edit(self) -> bool:
        return self.role == "editor"


def find_account(tx: Transaction, name: str) -> Account | None:
    row = tx.row("SELECT name, password_hash, role FROM account WHERE name = :name", name=name)
    return None if row is None else convert(row, Account)


def list_accounts(tx: Transaction) -> list[Account]:
    rows = tx.rows(
        "SELECT name, password_hash, role FROM account ORDER BY name LIMIT :most",
        most=MOST_ACCOUNTS,
    )
    return [convert(row, Account) for row in rows]


def store_account(tx: Transaction, *, name: str, password: str, role: Role = "editor") -> None:
    """Create an account or give it a new password; its sessions end."""
    if not _NAME.fullmatch(name):
        raise BadAccount(
            "name", f"the name is {name[:70]!r}; it must be 1 to 60 characters on one line"
        )
    if role not in ROLES:
        raise BadAccount("role", f"the role is {role!r}; it must be one of: {', '.join(ROLES)}")
    check_new_password(password)
    tx.run(_STORE, name=name, password_hash=hash_password(password), role=role)
    tx.run("DELETE FROM login_session WHERE account = :name", name=name)


def store_password(tx: Transaction, account: Account, password: str) -> Account | None:
    """Give the account a new password; its sessions end. None if it has changed since it was
    read: it may have been removed, or have a new password already."""
    check_new_password(password)
    new = hash_password(password)
    found = tx.run(
        "UPDATE account SET password_hash = :new WHERE name = :name AND password_hash = :old",
        name=account.name, old=account.password_hash, new=new,
    )  # fmt: skip
    tx.run("DELETE FROM login_session WHERE account = :name", name=account.name)
    return replace(account, password_hash=new) if found else None


def delete_account(tx: Transaction, name: str) -> bool:
    tx.run("DELETE FROM login_session WHERE account = :name", name=name)
    return tx.run("DELETE FROM account WHERE name = :name", name=name) > 0


def check_new_password(password: str) -> None:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise BadAccount(
            "password",
            f"the password has {len(password)} characters; it must have {SHORTEST_PASSWORD} to "
            f"{LONGEST_PASSWORD}",
        )


def hash_password(password: str) -> str:
    return generate_password_hash(password, method=METHOD)


def is_right_password(account: Account | None, password: str) -> bool:
    """Compare a password; an unknown name takes the same time as a wrong password."""
    stored = _hash_of_no_account() if account is None else account.password_hash
    is_right = check_password_hash(stored, password[: LONGEST_PASSWORD + 1])
    return is_right and account is not None


@cache
def _hash_of_no_account() -> str:
    return hash_password("no account has this password")

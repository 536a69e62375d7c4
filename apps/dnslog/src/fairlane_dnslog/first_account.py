"""The first account of a new database, for the first login."""

import secrets
from pathlib import Path
from typing import Final

from fairlane import BadSetting
from fairlane_dnslog.database import Database
from fairlane_dnslog.web.accounts import BadAccount, list_accounts, store_account

NAME: Final = "admin"
LARGEST_FILE: Final = 10_000
# Without letters and digits that look alike in a terminal.
_LETTERS: Final = "abcdefghijkmnpqrstuvwxyz23456789"


def create_first_account(database: Database, password_file: str = "") -> str:
    """Create an administrator if there is no account yet; return a password that was generated.

    With a password file the password is the one of the file, and the returned text is empty.
    """
    with database.reading() as tx:
        if list_accounts(tx):
            return ""
    password = _read_password(password_file) if password_file else generate_password()
    try:
        with database.transaction() as tx:
            if list_accounts(tx):
                return ""  # another process was first
            store_account(tx, name=NAME, password=password)
    except BadAccount as error:
        raise BadSetting(f"{password_file}: {error}") from None
    return "" if password_file else password


def generate_password() -> str:
    """Return a password of 80 bits, in groups that a person can type."""
    groups = ("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(4))
    return "-".join(groups)


def _read_password(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as file:
            return file.read(LARGEST_FILE).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"the password of the first account cannot be read: {error}") from None

"""The `pg_dump` command that copies the schema of Fairlane, as a line for a shell."""

import shlex
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from fairlane.store.postgres.address import Address

# The options of an address that pg_dump accepts, besides those for TLS; our driver has more.
_ACCEPTED: Final = ("dbname", "host", "passfile", "port", "user")


def dump_command(database: str, target: Path) -> str:
    """Return the command that copies the schema; the command prompts for the password.

    Behind a pooler it connects to the server directly: a dump is one long session.
    """
    address = Address(database)
    parts = urlsplit(address.direct_dsn)
    user, separator, host = parts.netloc.rpartition("@")
    options = [
        (name, value)
        for name, value in parse_qsl(parts.query)
        if name in _ACCEPTED or (name.startswith("ssl") and name != "sslpassword")
    ]
    plain = parts._replace(
        netloc=f"{user.partition(':')[0]}{separator}{host}", query=urlencode(options, safe="/")
    )
    words = (
        "pg_dump", "--format=custom", f"--schema={address.schema}", f"--file={target}",
        urlunsplit(plain),
    )  # fmt: skip
    return shlex.join(words)

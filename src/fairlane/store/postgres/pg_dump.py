"""Which `pg_dump` copies a queue on PostgreSQL, as a line that a shell can be given."""

import shlex
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from fairlane.store.postgres.address import Address

# What pg_dump takes in an address, besides everything about TLS; our driver has options of its own.
_TAKEN: Final = ("dbname", "host", "passfile", "port", "user")


def dump_command(database: str, target: Path) -> str:
    """Return the command that copies our schema; it asks for the password itself.

    It goes to the server directly where a pooler stands between: a dump is one long session.
    """
    address = Address(database)
    parts = urlsplit(address.direct_dsn)
    user, separator, host = parts.netloc.rpartition("@")
    options = [
        (name, value)
        for name, value in parse_qsl(parts.query)
        if name in _TAKEN or (name.startswith("ssl") and name != "sslpassword")
    ]
    plain = parts._replace(
        netloc=f"{user.partition(':')[0]}{separator}{host}", query=urlencode(options, safe="/")
    )
    words = (
        "pg_dump", "--format=custom", f"--schema={address.schema}", f"--file={target}",
        urlunsplit(plain),
    )  # fmt: skip
    return shlex.join(words)

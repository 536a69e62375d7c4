"""The migration scripts of a dialect, and the digests that a database stores of the applied ones.

A released script is never edited. During development the first one is: its digest is then another
one, and a database of the earlier text is refused instead of used with tables that it lacks.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

from fairlane.errors import StoreUnavailable


def named_scripts(package: str) -> list[tuple[str, str]]:
    """Return the file names and texts of the scripts in order."""
    folder = files(package) / "migrations"
    scripts = (item for item in folder.iterdir() if item.name.endswith(".sql"))
    return sorted((item.name, item.read_text(encoding="utf-8")) for item in scripts)


def digest(script: str) -> int:
    """Return a number that depends on the SQL of a script, not on its comments and line breaks."""
    sql = " ".join(re.sub(r"--.*", "", script).split())
    return int.from_bytes(hashlib.sha256(sql.encode()).digest()[:7], "big")


def refuse_other_scripts(
    scripts: Sequence[str], stored: Mapping[int, int | None], database: str, remedy: str
) -> None:
    """Raise if a database has other digests for the scripts that were applied to it."""
    for number, script in enumerate(scripts, 1):
        if stored.get(number) != digest(script):
            raise StoreUnavailable(
                f"the database {database} was created by another (development) version of "
                f"Fairlane: its migration {number} differs from the one of this version; use the "
                f"version that created it, or {remedy}",
                database=database,
            )

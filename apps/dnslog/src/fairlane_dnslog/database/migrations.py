"""The numbered scripts of a dialect: `schema/<dialect>/0001_tables.sql` and so on.

Both dialects have the same numbers and names. A released script is never edited.
"""

from functools import cache
from importlib.resources import files

from msgspec import Struct

from fairlane_dnslog.database.contract import Dialect
from fairlane_dnslog.database.errors import SchemaTooNew


class Migration(Struct, frozen=True):
    version: int
    name: str
    script: str


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """Return all scripts of a dialect in their order."""
    folder = files("fairlane_dnslog.database") / "schema" / dialect
    scripts = [one for one in folder.iterdir() if one.name.endswith(".sql")]
    scripts.sort(key=lambda one: one.name)
    return tuple(
        Migration(int(one.name.split("_")[0]), one.name, one.read_text("utf-8")) for one in scripts
    )


def missing_migrations(dialect: Dialect, version: int) -> list[Migration]:
    """Return the scripts that a database of this version needs."""
    known = migrations(dialect)
    if version > known[-1].version:
        raise SchemaTooNew(found=version, known=known[-1].version)
    return [one for one in known if one.version > version]

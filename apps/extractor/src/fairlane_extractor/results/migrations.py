"""The numbered scripts of a database: `schema/<dialect>/0001_results.sql` and so on.

Both dialects have the same numbers and names. A released script is never edited.
"""

from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct

from fairlane import SchemaTooNew

Dialect = Literal["sqlite", "postgres"]


class Migration(Struct, frozen=True):
    version: int
    name: str
    script: str


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """Return all scripts of a dialect in their order."""
    folder = files("fairlane_extractor.results") / "schema" / dialect
    scripts = [one for one in folder.iterdir() if one.name.endswith(".sql")]
    scripts.sort(key=lambda one: one.name)
    return tuple(
        Migration(int(one.name.split("_")[0]), one.name, one.read_text("utf-8")) for one in scripts
    )


def missing_migrations(dialect: Dialect, version: int) -> list[Migration]:
    """Return the scripts that a database of this version needs."""
    known = migrations(dialect)
    if version > known[-1].version:
        raise SchemaTooNew(
            f"the tables of the results have version {version}, and this program knows versions up "
            f"to {known[-1].version}; install the version of fairlane-extractor that migrated them",
            found=version,
            known=known[-1].version,
        )
    return [one for one in known if one.version > version]

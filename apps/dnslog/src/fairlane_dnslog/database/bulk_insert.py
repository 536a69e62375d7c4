"""One insert of many rows: arrays on PostgreSQL, a prepared statement per row on SQLite."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from fairlane_dnslog.database.contract import Row, Transaction


class BulkInsert:
    """An insert into a table; `columns` gives the PostgreSQL type of each, and `ending` follows the
    rows: a conflict clause, and which columns are returned."""

    def __init__(self, table: str, columns: Mapping[str, str], ending: str) -> None:
        self._table = table
        self._columns = columns
        self._ending = ending

    def run(self, tx: Transaction, rows: Sequence[Sequence[object]]) -> list[Row]:
        """Insert the rows, whose values are in the order of the columns."""
        if not rows:
            return []
        if tx.dialect == "postgres":
            values = zip(*rows, strict=True)
            return tx.rows(
                self.postgres, **dict(zip(self._columns, map(list, values), strict=True))
            )
        return tx.rows_of_many(
            self.sqlite, [dict(zip(self._columns, row, strict=True)) for row in rows]
        )

    @cached_property
    def sqlite(self) -> str:
        values = ", ".join(f":{name}" for name in self._columns)
        return f"{self._beginning} VALUES ({values}) {self._ending}"

    @cached_property
    def postgres(self) -> str:
        arrays = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in self._columns.items())
        rows = f"SELECT * FROM unnest({arrays})"  # noqa: S608 - our own columns
        return f"{self._beginning} {rows} {self._ending}"

    @property
    def _beginning(self) -> str:
        return f"INSERT INTO {self._table} ({', '.join(self._columns)})"

"""The contract that both dialects fulfil.

Statements have `:name` placeholders in both. A list as a value is an array on PostgreSQL and a JSON
text on SQLite, for `unnest(:names)` and `json_each(:names)`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Literal

Dialect = Literal["sqlite", "postgres"]
Row = dict[str, Any]


class Transaction(ABC):
    dialect: ClassVar[Dialect]

    @abstractmethod
    def rows(self, sql: str, /, **values: object) -> list[Row]:
        """Run a statement and return its rows, by column name."""

    @abstractmethod
    def run(self, sql: str, /, **values: object) -> int:
        """Run a statement and return the number of rows that it changed."""

    @abstractmethod
    def rows_of_many(self, sql: str, values: Sequence[Mapping[str, object]], /) -> list[Row]:
        """Run a statement once for each of these values and return the rows of all."""

    def row(self, sql: str, /, **values: object) -> Row | None:
        """Run a statement and return its first row."""
        found = self.rows(sql, **values)
        return found[0] if found else None


class Database(ABC):
    """A database that connects at its first use; safe for threads and over a fork."""

    dialect: ClassVar[Dialect]

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a write transaction: committed at the end of the block, undone by an exception."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """Begin a read transaction: all its statements see the same state."""

    @abstractmethod
    def migrate(self) -> None:
        """Create or update the tables; several processes may call this at once."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections; the next use opens new ones."""

"""The tables of the DNS log, on SQLite or PostgreSQL, behind one small contract."""

from fairlane_dnslog.database.address import open_database
from fairlane_dnslog.database.bulk_insert import BulkInsert
from fairlane_dnslog.database.contract import Database, Dialect, Row, Transaction
from fairlane_dnslog.database.errors import (
    BadAddress,
    ConstraintViolated,
    DatabaseDamaged,
    DatabaseError,
    DatabaseUnavailable,
    SchemaTooNew,
)

__all__ = [
    "BadAddress",
    "BulkInsert",
    "ConstraintViolated",
    "Database",
    "DatabaseDamaged",
    "DatabaseError",
    "DatabaseUnavailable",
    "Dialect",
    "Row",
    "SchemaTooNew",
    "Transaction",
    "open_database",
]

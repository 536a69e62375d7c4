"""Databases of both dialects for tests."""

import atexit
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

import pytest

from fairlane_dnslog.database import Database, open_database
from tests.support.postgres import Databases, databases

DIALECTS = ("sqlite", "postgres")


@cache
def postgres_server() -> Databases:
    """Return the PostgreSQL server of this test process, started when the first test needs it."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(databases())


@pytest.fixture(params=DIALECTS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    return new_address(request.param, tmp_path)


def new_address(dialect: str, folder: Path) -> str:
    if dialect == "sqlite":
        return f"sqlite:///{folder / 'dnslog.db'}"
    return postgres_server().new_database()


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    """A database with its tables."""
    with closing(open_database(address)) as opened:
        opened.migrate()
        yield opened

"""A server that works, and the command line that reaches it in either way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import CommandLine, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.end()


@pytest.fixture(params=["url", "database"])
def fairlane(request: pytest.FixtureRequest, server: Server) -> CommandLine:
    """The command line, against the server or directly on its database."""
    if request.param == "url":
        return CommandLine(FAIRLANE_URL=server.url)
    return CommandLine(FAIRLANE_DATABASE=server.database)


@pytest.fixture
def alone(tmp_path: Path) -> CommandLine:
    """The command line on a migrated database on which no program runs."""
    command = CommandLine(FAIRLANE_DATABASE=f"sqlite:///{tmp_path}/alone.db")
    command("migrate")
    return command

from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.archiver.tests.archiver import Archiver, archiving
from apps.archiver.tests.mastodon_server import MastodonServer, mastodon


@pytest.fixture(scope="session")
def server() -> Iterator[MastodonServer]:
    with mastodon() as running:
        yield running


@pytest.fixture(scope="session")
def archiver(
    server: MastodonServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Archiver]:
    """One archiver for all tests of a process; each test has accounts of its own."""
    folder: Path = tmp_path_factory.mktemp("archive")
    with archiving(folder, server) as running:
        yield running

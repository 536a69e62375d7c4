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
    """One archiver for all tests of a process; each test uses separate accounts."""
    folder: Path = tmp_path_factory.mktemp("archive")
    with archiving(folder, server) as running:
        yield running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests with processes the time that they need on a busy machine."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(300))

from pathlib import Path

import pytest

from apps.dnslog.tests.databases import address, database

__all__ = ["address", "database"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests with processes the time that they need on a busy machine."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(300))

"""A bench for every test: a folder of its own, and nothing left running."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.process_control import Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.close()

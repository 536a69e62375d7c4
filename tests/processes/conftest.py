"""A bench for every test: a separate folder, and all its programs are stopped at the end."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.process_control import Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.close()

"""Fixtures for tests of the Python API: an app in memory."""

import pytest

from fairlane import Fairlane
from fairlane.testing import FakeClock


@pytest.fixture
def app() -> Fairlane:
    return Fairlane("memory://", clock=FakeClock(), stop_grace_seconds=0)

"""What application code meets: an app in memory is enough to try its words on."""

import pytest

from fairlane import Fairlane
from fairlane.testing import FakeClock


@pytest.fixture
def app() -> Fairlane:
    return Fairlane("memory://", clock=FakeClock(), stop_grace_seconds=0)

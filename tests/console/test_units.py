"""The unit tests of the console, which need no browser."""

import pytest

from tests.support.node import npm_run


@pytest.mark.timeout(180)  # the first run installs packages
def test_the_units_of_the_console_pass() -> None:
    finished = npm_run("test")
    assert finished.returncode == 0, finished.stdout

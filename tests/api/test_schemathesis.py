"""The document of the API is held against the API itself, and the other way round."""

import pytest

from tests.support.schemathesis_run import ask_everything


@pytest.mark.timeout(300)
def test_whatever_the_document_allows_is_answered_as_it_says() -> None:
    """`make schemathesis` asks 500 times for each operation, and differently each time."""
    told = ask_everything(20, "--generation-deterministic", timeout_seconds=280)
    assert not told, told

"""docs/internals/commit.sql has the current SQL of a commit."""

from tests.support.commit_document import PATH, commit_document


def test_the_document_of_a_commit_is_up_to_date() -> None:
    assert PATH.read_text() == commit_document(), "run `python -m tests.support.commit_document`"

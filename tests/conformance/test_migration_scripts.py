"""The digest of a migration script."""

from fairlane.store.migration_scripts import digest


def test_a_comment_does_not_change_the_digest_of_a_script() -> None:
    assert digest("CREATE TABLE a (b)") == digest("-- why\nCREATE  TABLE a (b) -- so\n")
    assert digest("CREATE TABLE a (b)") != digest("CREATE TABLE a (c)")

"""Safe file names from any text."""

import os
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from fairlane_archiver.file_names import LONGEST_BYTES, folder_name, numbered, safe_name


@given(st.text(max_size=500))
def test_any_text_becomes_the_name_of_one_file(text: str) -> None:
    name = safe_name(text)
    assert name
    assert os.path.basename(name) == name  # noqa: PTH119 - the plainest meaning of it
    assert len(name.encode()) <= LONGEST_BYTES + 1
    assert not name.startswith((".", "-"))
    assert not name.endswith((".", " ", ".part", ".json"))
    assert name.isprintable()
    assert safe_name(text) == name


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_two_accounts_never_share_a_folder(one: str, other: str) -> None:
    if one != other:
        assert folder_name(one).casefold() != folder_name(other).casefold()


def test_things_of_one_name_find_one_of_their_own_after_few_steps() -> None:
    """Also for any number of files, as a hostile server may send."""
    taken: set[str] = set()
    for thing in range(2_000):
        tried = islice(numbered("same.jpg", f"key {thing}"), 12)
        taken.add(next(name for name in tried if name not in taken))
    assert len(taken) == 2_000
    assert {"same.jpg", "same-1.jpg", "same-9.jpg"} < taken
    assert all(name.startswith("same") and name.endswith(".jpg") for name in taken)


def test_a_name_keeps_its_extension_however_long_it_is() -> None:
    assert safe_name("x" * 400 + ".jpeg").endswith(".jpeg")
    assert safe_name("../../etc/passwd") == "etc_passwd"
    assert safe_name("nul.txt") == "_nul.txt"
    assert safe_name("") == "file"
    assert folder_name("@ann@social.example") == "ann@social.example"

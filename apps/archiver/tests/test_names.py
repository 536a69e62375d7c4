"""Names that can be trusted, whatever they are made of."""

import os

from hypothesis import given
from hypothesis import strategies as st

from fairlane_archiver.names import LONGEST_BYTES, folder_name, safe_name


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


def test_a_name_keeps_its_extension_however_long_it_is() -> None:
    assert safe_name("x" * 400 + ".jpeg").endswith(".jpeg")
    assert safe_name("../../etc/passwd") == "etc_passwd"
    assert safe_name("nul.txt") == "_nul.txt"
    assert safe_name("") == "file"
    assert folder_name("@ann@social.example") == "ann@social.example"

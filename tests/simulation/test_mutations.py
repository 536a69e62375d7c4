"""The list of mutations matches the current code, and the removal of a guard is noticed.

`make mutations` tries all of them, which takes minutes; here two cheap ones are tried.
"""

from collections import Counter
from pathlib import Path

import pytest

from mutations.bench import Copy, Spoiled, try_one
from mutations.guards import MUTATIONS
from mutations.mutation import Command, Mutation, OutOfDate, suite, together, worlds

BY_NAME = {mutation.name: mutation for mutation in MUTATIONS}
LEAST = 25


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_guard_occurs_once_and_the_code_without_it_compiles(
    mutation: Mutation, repository: Path
) -> None:
    changed = mutation.applied_to(repository)
    if mutation.file.endswith(".py"):
        compile(changed, mutation.file, "exec")
    assert changed != (repository / mutation.file).read_text()


def test_names_are_unique_and_every_entry_is_complete() -> None:
    names = Counter(mutation.name for mutation in MUTATIONS)
    assert [name for name, count in names.items() if count > 1] == []
    assert all(mutation.guards.endswith(".") for mutation in MUTATIONS)
    assert all(mutation.noticed_by for mutation in MUTATIONS)


def test_enough_guards_are_checked_by_worlds_alone() -> None:
    alone = [m for m in MUTATIONS if all("mutations.worlds" in c.words for c in m.noticed_by)]
    assert len(MUTATIONS) - len(alone) >= LEAST
    assert len(alone) >= LEAST


def test_every_test_that_must_notice_exists(repository: Path) -> None:
    named = {
        word
        for mutation in MUTATIONS
        for command in mutation.noticed_by
        for word in command.words
        if word.startswith("tests/")
    }
    for name in named:
        file, _, test = name.partition("::")
        assert (repository / file).exists(), name
        assert f"def {test}(" in (repository / file).read_text() if test else True, name


@pytest.mark.parametrize("name", ["bound of crashes", "epoch raised by a takeover"])
async def test_the_removal_of_a_guard_is_noticed(name: str, tmp_path: Path) -> None:
    finding = await try_one(BY_NAME[name], tmp_path / "copy")
    assert finding.verdict == "noticed"
    assert finding.what.startswith("tests/")


async def test_a_harmless_change_goes_unnoticed(tmp_path: Path) -> None:
    same = changed(
        find="job.crashes <= job.terms.recover", replace="job.terms.recover >= job.crashes"
    )
    finding = await try_one(same, tmp_path / "copy")
    assert finding.verdict == "survived"


async def test_code_that_cannot_be_imported_counts_as_broken_and_not_as_noticed(
    tmp_path: Path,
) -> None:
    finding = await try_one(
        changed(find="job.crashes += 1", replace="job.crashes +"), tmp_path / "c"
    )
    assert finding.verdict == "broken"
    assert "SyntaxError" in finding.what


async def test_a_command_that_hangs_is_killed_and_reported(tmp_path: Path) -> None:
    endless = Command(("-c", "while True: pass"), 0.3)
    hanging = changed(find="job.crashes += 1", replace="job.crashes += 0", noticed_by=(endless,))
    finding = await try_one(hanging, tmp_path / "copy")
    assert finding.verdict == "noticed"
    assert finding.what.startswith("it hung")


async def test_a_copy_that_python_does_not_import_is_spoiled(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy")
    await copy.check()
    (copy.folder / "src" / "fairlane").rename(copy.folder / "src" / "elsewhere")
    with pytest.raises(Spoiled):
        await copy.check()


@pytest.mark.parametrize("find", ["job", "no such text in this file"])
def test_a_find_text_that_does_not_occur_once_is_out_of_date(find: str, repository: Path) -> None:
    with pytest.raises(OutOfDate, match="not once"):
        changed(find=find, replace="").applied_to(repository)


def test_tests_share_one_run_where_nothing_is_changed() -> None:
    commands = [suite("tests/a.py"), worlds(), suite("tests/b.py", "tests/a.py"), worlds()]
    shared = together(commands)
    assert len(shared) == 2
    assert shared[0].words[-2:] == ("tests/a.py", "tests/b.py")


def changed(*, find: str, replace: str, noticed_by: tuple[Command, ...] | None = None) -> Mutation:
    return Mutation(
        name="of this test", guards="Nothing.", file="src/fairlane/core/worker_reports.py",
        find=find, replace=replace,
        noticed_by=noticed_by or (suite("tests/core/test_recovery.py"),),
    )  # fmt: skip

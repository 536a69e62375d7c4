"""Outputs appear whole or not at all, and overwrite a file only by policy."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.errors import OutputBusy, Permanent
from fairlane.task import disk_space, output_files
from fairlane.task.output_files import (
    OutputPolicy,
    OutputRecord,
    OutputRegistry,
    publish,
    resolve,
    temporary_name,
)

JOB = "01920000-0000-7000-8000-000000000001"
OTHER_JOB = "01920000-0000-7000-8000-000000000002"


def written(final: Path, text: str = "new", job_id: str = JOB) -> Path:
    temporary = temporary_name(final, job_id)
    temporary.write_text(text)
    return temporary


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_temporary_name_is_a_hidden_sibling_that_keeps_the_extension() -> None:
    assert temporary_name("/videos/clip.mp4", "7") == Path("/videos/.clip.7.part.mp4")
    assert temporary_name("/videos/all.tar.gz", "7") == Path("/videos/.all.7.part.tar.gz")
    assert temporary_name("/videos/README", "7") == Path("/videos/.README.7.part")


names_of_files = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=255
).filter(lambda name: len(name.encode()) <= 255 and name not in (".", ".."))


@given(names_of_files)
def test_temporary_and_numbered_names_fit_every_file_system(name: str) -> None:
    final = Path("/folder") / name
    candidates = output_files.numbered(final)
    given_names = [temporary_name(final, JOB), *(next(candidates) for _ in range(12))]

    assert all(len(os.fsencode(path.name)) <= 255 for path in given_names)
    assert all(path.parent == final.parent for path in given_names)
    assert len(set(given_names)) == len(given_names)


def test_long_names_that_differ_at_their_end_get_different_temporary_names() -> None:
    assert temporary_name("a" * 254 + "b", JOB) != temporary_name("a" * 254 + "c", JOB)


def test_numbers_go_before_the_extension() -> None:
    def second(name: str) -> str:
        return list(zip(range(2), output_files.numbered(Path(name)), strict=False))[1][1].name

    assert second("clip.mp4") == "clip-1.mp4"
    assert second("all.tar.gz") == "all-1.tar.gz"
    assert second("README") == "README-1"
    assert second(".profile") == ".profile-1"


@pytest.mark.parametrize("policy", list(OutputPolicy))
def test_a_free_name_is_used_under_every_policy(tmp_path: Path, policy: OutputPolicy) -> None:
    final = tmp_path / "clip.mp4"

    assert publish(written(final), final, policy) == final
    assert final.read_text() == "new"
    assert names(tmp_path) == ["clip.mp4"]


def test_rename_uses_the_next_number_and_overwrites_no_file(tmp_path: Path) -> None:
    final = tmp_path / "clip.mp4"
    final.write_text("old")
    (tmp_path / "clip-1.mp4").mkdir()

    assert publish(written(final), final, OutputPolicy.RENAME) == tmp_path / "clip-2.mp4"
    assert final.read_text() == "old"
    assert names(tmp_path) == ["clip-1.mp4", "clip-2.mp4", "clip.mp4"]


def test_overwrite_replaces_the_file(tmp_path: Path) -> None:
    final = tmp_path / "clip.mp4"
    final.write_text("old")

    assert publish(written(final), final, OutputPolicy.OVERWRITE) == final
    assert final.read_text() == "new"
    assert names(tmp_path) == ["clip.mp4"]


def test_overwrite_does_not_replace_a_folder(tmp_path: Path) -> None:
    final = tmp_path / "clip.mp4"
    final.mkdir()

    with pytest.raises(Permanent, match="is a folder"):
        publish(written(final), final, OutputPolicy.OVERWRITE)


def test_skip_keeps_the_old_file_and_drops_the_new_one(tmp_path: Path) -> None:
    final = tmp_path / "clip.mp4"
    final.write_text("old")

    assert publish(written(final), final, OutputPolicy.SKIP) is None
    assert final.read_text() == "old"
    assert names(tmp_path) == ["clip.mp4"]


def test_wait_raises_while_the_name_exists_and_keeps_both_files(tmp_path: Path) -> None:
    final = tmp_path / "clip.mp4"
    final.write_text("old")
    temporary = written(final)

    with pytest.raises(OutputBusy):
        publish(temporary, final, OutputPolicy.WAIT)

    assert final.read_text() == "old"
    assert temporary.exists()


def test_publishing_a_file_that_was_never_written_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        publish(tmp_path / ".none.part", tmp_path / "none", OutputPolicy.RENAME)


@pytest.mark.parametrize("hard_links", [True, False])
def test_publishers_of_one_name_at_once_all_keep_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hard_links: bool
) -> None:
    if not hard_links:
        monkeypatch.setattr(os, "link", _without_hard_links)
    final = tmp_path / "clip.mp4"
    together = threading.Barrier(8)

    def one(number: int) -> Path | None:
        temporary = written(final, text=str(number), job_id=f"job{number}")
        together.wait()
        return publish(temporary, final, OutputPolicy.RENAME)

    with ThreadPoolExecutor(8) as threads:
        published = [path for path in threads.map(one, range(8)) if path is not None]

    assert len(set(published)) == 8
    assert [path.read_text() for path in published] == [str(number) for number in range(8)]
    assert len(names(tmp_path)) == 8


def _without_hard_links(*paths: object) -> None:
    """Fail as os.link does on exFAT."""
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("policy", [OutputPolicy.RENAME, OutputPolicy.SKIP, OutputPolicy.WAIT])
def test_without_hard_links_an_existing_name_is_respected_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: OutputPolicy
) -> None:
    monkeypatch.setattr(os, "link", _without_hard_links)
    final = tmp_path / "clip.mp4"
    final.write_text("old")

    if policy is OutputPolicy.WAIT:
        with pytest.raises(OutputBusy):
            publish(written(final), final, policy)
    else:
        publish(written(final), final, policy)

    assert final.read_text() == "old"


def test_discarding_twice_is_harmless(tmp_path: Path) -> None:
    temporary = written(tmp_path / "clip.mp4")

    output_files.discard(temporary)
    output_files.discard(temporary)

    assert names(tmp_path) == []


def test_published_files_are_removed_on_request(tmp_path: Path) -> None:
    there, gone = tmp_path / "there", tmp_path / "gone"
    there.write_text("")

    assert output_files.remove_published([there, gone]) == [there]
    assert names(tmp_path) == []


def test_leftovers_of_a_crash_go_and_finished_files_stay(tmp_path: Path) -> None:
    final = tmp_path / "clip.mp4"
    final.write_text("precious")
    half = written(final)
    records = [
        OutputRecord(final=str(final), temporary=str(half)),
        OutputRecord(final=str(final), temporary=str(final)),  # damaged: names the finished file
        OutputRecord(final=str(final), temporary=str(tmp_path / ".gone.1.part")),
    ]

    assert output_files.remove_leftovers(records) == [half]
    assert names(tmp_path) == ["clip.mp4"]


def test_a_path_belongs_to_one_job_however_it_is_spelt(tmp_path: Path) -> None:
    registry = OutputRegistry()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    taken = registry.reserve(JOB, [tmp_path / "real" / "clip.mp4"])

    for spelling in ("link/clip.mp4", "real/../real/clip.mp4", "link/../link/clip.mp4"):
        with pytest.raises(OutputBusy, match=JOB):
            registry.reserve(OTHER_JOB, [tmp_path / spelling])
        assert registry.holder(resolve(tmp_path / spelling)) == JOB
    assert registry.reserve(JOB, taken) == taken
    if sys.platform != "darwin":  # there it may be the same file
        assert registry.reserve(OTHER_JOB, [tmp_path / "real" / "CLIP.mp4"])


def test_several_paths_are_reserved_together_or_not_at_all(tmp_path: Path) -> None:
    registry = OutputRegistry()
    registry.reserve(JOB, [tmp_path / "b"])

    with pytest.raises(OutputBusy):
        registry.reserve(OTHER_JOB, [tmp_path / "a", tmp_path / "b"])
    assert registry.holder(tmp_path / "a") is None

    registry.release(JOB)
    registry.reserve(OTHER_JOB, [tmp_path / "a", tmp_path / "b"])
    assert registry.holder(tmp_path / "a") == OTHER_JOB


def test_an_unused_name_is_neither_a_file_nor_another_jobs(tmp_path: Path) -> None:
    registry = OutputRegistry()
    (tmp_path / "clip.mp4").write_text("old")

    assert registry.reserve_unused_path(JOB, tmp_path / "clip.mp4").name == "clip-1.mp4"
    assert registry.reserve_unused_path(OTHER_JOB, tmp_path / "clip.mp4").name == "clip-2.mp4"


def test_threads_never_share_a_path(tmp_path: Path) -> None:
    registry = OutputRegistry()

    with ThreadPoolExecutor(8) as threads:
        taken = list(
            threads.map(
                lambda n: registry.reserve_unused_path(f"job{n}", tmp_path / "clip.mp4"), range(50)
            )
        )

    assert len(set(taken)) == 50


def test_a_path_must_lie_under_an_allowed_root(tmp_path: Path) -> None:
    root = tmp_path / "videos"
    root.mkdir()
    (root / "way-out").symlink_to(tmp_path)

    assert output_files.resolve(root / "a" / ".." / "clip.mp4", roots=[root]) == root / "clip.mp4"
    assert output_files.resolve("/anywhere") == Path("/anywhere")
    assert output_files.resolve(root / "way-out" / "..") == tmp_path.parent
    (root / "link.mp4").symlink_to("/etc/hostname")  # which would be replaced, not followed
    assert output_files.resolve(root / "link.mp4", roots=[root]) == root / "link.mp4"
    for outside in (root / ".." / "x", root / "way-out" / "x", tmp_path / "videos2" / "x"):
        with pytest.raises(Permanent, match="outside the allowed") as caught:
            output_files.resolve(outside, roots=[tmp_path / "none", root])
        assert caught.value.code == "path_not_allowed"


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(Permanent) as caught:
        output_files.resolve(path)

    assert caught.value.code == "bad_path"


HOLDERS = {
    "writing": "file = open(path, 'ab')",
    "locking": "import fcntl; file = open(path); fcntl.flock(file, fcntl.LOCK_EX)",
    "reading": "file = open(path)",
}


@pytest.mark.parametrize(
    ("holder", "locked"), [("writing", True), ("locking", True), ("reading", False)]
)
def test_a_file_another_program_writes_or_locks_is_noticed(
    tmp_path: Path, holder: str, locked: bool
) -> None:
    path = tmp_path / "clip.mp4"
    path.write_text("old")
    code = f"import sys; path = sys.argv[1]; {HOLDERS[holder]}; print('open', flush=True); input()"

    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        seen = output_files.is_locked_by_others(path)
        process.communicate(b"\n")

    assert seen is locked
    assert not output_files.is_locked_by_others(path)


def test_our_own_open_file_and_a_missing_one_are_not_locked(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"

    assert not output_files.is_locked_by_others(path)
    with path.open("w"):
        assert not output_files.is_locked_by_others(path)


def test_free_space_is_that_of_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    wanted = tmp_path / "not" / "yet" / "clip.mp4"

    assert disk_space.free_bytes(wanted) > 0
    assert disk_space.missing_bytes(wanted, 0) == 0
    assert disk_space.missing_bytes(wanted, 10**18) > 0
    assert disk_space.shortage(wanted, 0) is None
    reason = disk_space.shortage(wanted, 10**15)
    assert reason is not None
    assert f"needs 1.0 PB free in {tmp_path}," in reason.message


def test_a_folder_that_cannot_be_examined_is_no_reason_to_wait() -> None:
    """The name is too long for any disk: the attempt fails with that error."""
    assert disk_space.free_space("{folder}", at_least=10**18)({"folder": "x" * 300}) is None


def test_a_shortage_is_shown_in_readable_units() -> None:
    def message(needed: int, free: int) -> str:
        return disk_space.shortage_message("/videos", needed=needed, free=free)

    gigabyte = 10**9
    assert message(int(3.2 * gigabyte), int(1.1 * gigabyte)) == (
        "needs 3.2 GB free in /videos, 1.1 GB is free: 2.1 GB too little"
    )
    assert message(gigabyte, 999) == (
        "needs 1.0 GB free in /videos, 999 bytes is free: 1.0 GB too little"
    )
    assert message(gigabyte + 1, gigabyte) == (
        "needs 1,000,000,001 bytes free in /videos, 1,000,000,000 bytes is free: 1 bytes too little"
    )
    assert disk_space.amount(999_960) == "1.0 MB"

"""`fairlane-archive` without a server: what it creates, changes, refuses and prints."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.archiver.tests.archiver import typed
from fairlane import BadSetting
from fairlane.testing import running
from fairlane_archiver import schedules
from fairlane_archiver.index import Missing
from fairlane_archiver.program import build
from fairlane_archiver.rows import Row
from fairlane_archiver.settings import Settings
from fairlane_archiver.sources.gallery import Gallery
from fairlane_archiver.table import describe_problems, format_bytes, table

ANN, BOB = "@ann@social.example", "@bob@social.example"


def added(folder: Path, *words: str) -> dict[str, Any]:
    """Add a row and return its filters."""
    [row] = json.loads(typed(folder, "add", *words, "--json"))
    return dict(row["filters"])


@pytest.mark.parametrize(
    "words", [["status"], ["start"], ["remove", ANN], ["schedule", "--every", "1h"], ["log", ANN]]
)
def test_only_who_adds_makes_an_archive(words: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "mistyped"
    assert f"there is no archive in {folder}" in typed(folder, *words, code=3)
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for words in (["add", ANN], ["serve"], ["work"]):
        said = typed(tmp_path / "file" / "archive", *words, code=2)
        assert "cannot be the folder of an archive" in said
        assert said.count("\n") == 1


def test_what_is_not_named_stays_unless_it_is_reset(tmp_path: Path) -> None:
    added(tmp_path, ANN, "--kinds", "image", "--since", "2024-01-15", "--no-replies")
    both = added(tmp_path, ANN, "--most", "3", "--boosts")
    assert (both["kinds"], both["since"], both["replies"]) == (["image"], "2024-01-15", False)
    assert (both["most"], both["boosts"]) == (3, True)
    assert f"{ANN}: image; since 2024-01-15; without replies; with boosts; 3 new files" in typed(
        tmp_path, "add", ANN
    )
    reset = added(tmp_path, ANN, "--reset", "--most", "4")
    assert (len(reset["kinds"]), reset["since"], reset["replies"]) == (4, None, True)
    assert reset["most"] == 4


def test_what_can_never_work_is_not_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = typed(tmp_path, "add", ANN, "--since", "2024-02-01", "--until", "2024-01-01", code=2)
    assert said == (
        "fairlane-archive: until: nothing is from 2024-02-01 or later and from 2024-01-01 or "
        "earlier\n"
    )
    assert "'foto' is not of" in typed(tmp_path, "add", ANN, "--kinds", "foto", code=2)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "this needs gallery-dl" in typed(tmp_path, "add", "gallery:https://art.example", code=2)
    monkeypatch.undo()
    Gallery().check()  # gallery-dl is installed
    assert "no accounts" in typed(tmp_path, "status")


def test_who_is_removed_is_not_there_any_more(tmp_path: Path) -> None:
    added(tmp_path, ANN)
    added(tmp_path, BOB)
    assert "say when" in typed(tmp_path, "schedule", ANN, code=2)
    typed(tmp_path, "schedule", ANN, "--every", "1h")
    assert "its files stay in" in typed(tmp_path, "remove", ANN)
    assert "is not in the archive" in typed(tmp_path, "status", ANN, code=3)
    assert "is not in the archive" in typed(tmp_path, "cancel", ANN, code=3)
    assert "no schedules" in typed(tmp_path, "schedules")
    assert json.loads(typed(tmp_path, "remove", BOB, "--json"))["removed"] == BOB


def test_to_start_all_starts_those_that_can_be_and_names_the_others(tmp_path: Path) -> None:
    added(tmp_path, ANN)
    assert "nobody works on it" in typed(tmp_path, "start", ANN)
    added(tmp_path, BOB)
    said = typed(tmp_path, "start")
    assert f"{ANN} is started already, as job" in said
    [ann, bob] = json.loads(typed(tmp_path, "status", "--json"))
    assert (ann["state"], bob["state"]) == ("queued", "queued")
    assert ann["job"] in typed(tmp_path, "start", ANN, code=4)
    assert ann["job"] in typed(tmp_path, "show", ANN)
    typed(tmp_path, "log", ANN)
    assert "is not in the archive" in typed(tmp_path, "log", "@eve@social.example", code=3)


def test_the_verbs_of_accounts_come_first_and_it_says_its_version(tmp_path: Path) -> None:
    told = typed(tmp_path / "none", "--help")
    assert told.index("Accounts") < told.index("Run a program")
    assert told.index(" add ") < told.index(" cancel ")
    assert typed(tmp_path / "none", "--version").startswith("fairlane-archive 0.")
    about_add = typed(tmp_path / "none", "add", "--help")
    assert "Nothing older" in about_add
    assert "gallery:URL" in about_add
    assert not (tmp_path / "none").exists()


async def test_a_schedule_continues_rows_as_they_are_saved_by_then(tmp_path: Path) -> None:
    app = build(settings=Settings(folder=tmp_path, spare_bytes=10**18), database="memory://")
    archive = app.tasks["archive"]
    async with running(app) as world:
        for account in (ANN, BOB):
            await app.lanes.save("archive", account, archive.call(account=account))
        told = await schedules.save_schedule(app, None, cron=None, every="6h", timezone=None)
        assert told["schedule"] == schedules.ALL
        call = archive.call(account=ANN, since="2024-01-01", replies=False)
        await app.lanes.save("archive", ANN, call)  # after the schedule was made
        busy = await app.lanes.start("archive", BOB)
        await world.advance(timedelta(hours=6).total_seconds())
        lane = await app.lanes.show("archive", ANN)
        assert lane.active_job is not None
        job = await app.jobs.show(lane.active_job)
        assert (job.kind, job.params["since"], job.params["replies"]) == (
            "continue", "2024-01-01", False,
        )  # fmt: skip
        assert (await app.lanes.show("archive", BOB)).active_job == busy.id
        [fired] = (await app.jobs.history(task="continue")).items
        assert (fired.state, fired.result) == ("completed", {"continued": 1, "left": 1})
        assert await schedules.delete_schedule(app, None)
        assert not await schedules.delete_schedule(app, None)


@pytest.mark.parametrize("text", ["", "6", "0h", "h", "-1h", "1 h", "1.5h"])
def test_what_is_no_time_is_told(text: str) -> None:
    with pytest.raises(BadSetting, match="write 30m, 6h or 2d"):
        schedules.parse_interval(text)


def row(account: str, **more: Any) -> Row:
    counts = {"downloaded": 12, "skipped": 3, "filtered": 0, "failed": 1, "bytes": 1_234_567,
              "rate": 2_500, "page": 2, "cursor": "1234567890"}  # fmt: skip
    return Row(account=account, state="done", job="1", filters={}, trouble=None,
               **({"counts": counts} | more))  # fmt: skip


def test_a_table_fits_by_leaving_out_what_matters_least() -> None:
    wide = table([row(ANN)])
    assert wide[0].split()[-2:] == ["PAGE", "CURSOR"]
    assert "1.23 MB  2.5 kB/s" in wide[1]
    narrow = table([row(ANN)], width=80)
    assert max(map(len, narrow)) <= 80
    assert {"ACCOUNT", "STATE", "DOWNLOADED", "FAILED", "FILES", "MISSING"} < {*narrow[0].split()}
    least = table([row(f"https://blog.example/{'x' * 90}")], width=80)
    assert least[0].split() == ["ACCOUNT", "STATE", "DOWNLOADED", "FILES", "MISSING"]
    assert [format_bytes(size) for size in (0, 999, 1000, 12_345_678)] == [
        "0 B", "999 B", "1 kB", "12.3 MB",
    ]  # fmt: skip


def test_every_missing_file_is_named_with_its_reason() -> None:
    missing = [
        Missing(name="a.jpg", reason="it answered 404", is_lasting=True),
        Missing(name="b\x1b.jpg", reason="it fell silent", is_lasting=False),
    ]
    one = row(ANN, missing=3, missing_files=missing)
    assert list(describe_problems(one, in_full=True)) == [
        "  not saved: a.jpg: it answered 404",
        "  not saved: b\\x1b.jpg: it fell silent (continue tries it again)",
        "  … and 1 more",
    ]
    assert list(describe_problems(one, in_full=False)) == [
        f"{ANN}: 3 files are not saved; `fairlane-archive status {ANN}` lists them"
    ]

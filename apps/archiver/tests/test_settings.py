"""The settings from the environment."""

from pathlib import Path

import pytest

from fairlane import BadSetting
from fairlane.testing import running
from fairlane_archiver.program import build
from fairlane_archiver.settings import Settings


def test_settings_come_from_the_environment_and_the_folder_from_who_names_it() -> None:
    told = {
        "FAIRLANE_ARCHIVE_FOLDER": "/a", "FAIRLANE_ARCHIVE_ALLOW": "nas, 10.0.0.0/8,",
        "FAIRLANE_ARCHIVE_AT_ONCE": "7", "FAIRLANE_ARCHIVE_STALL_SECONDS": "1.5",
    }  # fmt: skip
    known = Settings.from_environment(environment=told)
    assert (known.folder, known.allow) == (Path("/a"), ("nas", "10.0.0.0/8"))
    assert (known.at_once, known.stall_seconds, known.tries) == (7, 1.5, 4)
    assert Settings.from_environment(Path("/b"), environment=told).folder == Path("/b")


def test_without_a_folder_it_is_where_data_of_users_goes() -> None:
    known = Settings.from_environment(environment={"XDG_DATA_HOME": "/data"})
    assert known.folder == Path("/data/fairlane-archive")
    relative = Settings.from_environment(environment={"XDG_DATA_HOME": "data"})  # which is invalid
    assert relative.folder == Path.home() / ".local/share/fairlane-archive"


@pytest.mark.parametrize(
    ("name", "value"),
    [("TRIES", "0"), ("AT_ONCE", "many"), ("SPARE_BYTES", "-1"), ("STALL_SECONDS", "nan")],
)
def test_what_makes_no_sense_is_told(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=name.lower() + "|" + name):
        Settings.from_environment(Path("/a"), environment={f"FAIRLANE_ARCHIVE_{name}": value})


def test_a_setting_says_from_where_on_it_is_taken() -> None:
    for text in ("zero", "0"):
        with pytest.raises(BadSetting, match="1 or more"):
            Settings.from_environment(Path("/a"), environment={"FAIRLANE_ARCHIVE_AT_ONCE": text})


async def test_a_full_disk_lets_rows_wait_and_say_so(tmp_path: Path) -> None:
    app = build(settings=Settings(folder=tmp_path, spare_bytes=10**18), database="memory://")
    async with running(app) as world:
        job = await app.jobs.submit_by_name("archive", {"account": "@ann@social.example"})
        await world.idle()
        assert (await job.show()).state == "blocked"
        [reason] = (await job.explain())["reasons"]
        assert "are to stay free" in reason["message"]
        assert (await app.lanes.show("archive", "@ann@social.example")).state == "queued"

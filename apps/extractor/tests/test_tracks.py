"""Tracks of real clips, read in the child of a real job."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from apps.extractor.tests.branch_jobs import Messages, local_media, run_in_job, settings_in
from apps.extractor.tests.clips import Cue, cues_file, make_clip, shared_clip
from fairlane import JobFailed
from fairlane_extractor.media import Track
from fairlane_extractor.segments import BranchResult
from fairlane_extractor.tracks import read_tracks
from fairlane_extractor.tracks.problem import TrackProblem
from fairlane_extractor.tracks.reading import read_track
from fairlane_extractor.tracks.tracks import best_first

ENGLISH: list[Cue] = [
    (0.5, 1.5, "The river\nis wide."),
    (1.6, 2.0, "<i>We</i> crossed {it} & sang."),
]
CHINESE: list[Cue] = [(0.5, 1.5, "这条河很宽。"), (1.6, 2.0, "我们过了桥。")]


def clip(suffix: str) -> Path:
    return shared_clip(suffix, tracks=[("en", ENGLISH), ("zh", CHINESE)], size=(160, 90))


async def read(
    folder: Path,
    path: Path,
    *tracks: Track,
    language: str | None = None,
    lost: tuple[str, ...] = (),
) -> tuple[BranchResult, Messages]:
    progress = Messages()
    local = replace(local_media(path, seconds=2.5, tracks=tracks), lost_tracks=lost)
    settings = settings_in(folder)
    result = await run_in_job(
        folder, BranchResult, lambda ctx: read_tracks(ctx, settings, local, language, progress)
    )
    return result, progress


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_embedded_tracks_are_read_exactly(suffix: str) -> None:
    found, _ = read_track(clip(suffix), 2.5, Track(stream=2, language="eng"))
    assert [(one.start, one.end, one.text) for one in found] == [
        (0.5, 1.5, "The river is wide."), (1.6, 2.0, "We crossed {it} & sang."),
    ]  # fmt: skip
    found, _ = read_track(clip(suffix), 2.5, Track(stream=3))
    assert [(one.start, one.end, one.text) for one in found] == CHINESE
    assert {one.language for one in found} == {"zh"}


async def test_the_track_of_the_wanted_language_is_read_in_a_child(tmp_path: Path) -> None:
    tracks = (Track(stream=2, language="eng"), Track(stream=3, language="chi"))
    result, progress = await read(tmp_path, clip(".mp4"), *tracks, language="zh-Hans")
    assert [one.text for one in result.segments] == ["这条河很宽。", "我们过了桥。"]
    assert (result.branch.status, result.branch.method, result.branch.segments) == (
        "used", "track zh", 2,
    )  # fmt: skip
    assert progress.texts == ["reading track zh"]


async def test_a_media_without_text_in_tracks_is_skipped_with_the_reason(tmp_path: Path) -> None:
    result, _ = await read(tmp_path, clip(".mp4"))
    assert (result.branch.status, result.branch.code) == ("skipped", "no_tracks")
    empty = tmp_path / "clip.srt"
    empty.touch()
    result, _ = await read(tmp_path, clip(".mp4"), Track(path=str(empty)))
    assert (result.branch.status, result.branch.code) == ("skipped", "empty_track")
    assert result.branch.reason == "track without a language is empty: clip.srt"


async def test_tracks_that_were_lost_are_named_in_the_reason(tmp_path: Path) -> None:
    lost = ("subtitles de: the server failed with 503", "subtitles fr: 10.0.0.1 is private")
    named = f"lost while downloading: {lost[0]}; {lost[1]}"
    result, _ = await read(tmp_path, clip(".mp4"), lost=lost)
    assert (result.branch.status, result.branch.code) == ("skipped", "lost_tracks")
    assert result.branch.reason == f"no subtitle track is left; {named}"
    result, _ = await read(tmp_path, clip(".mp4"), Track(stream=2), lost=lost)
    assert (result.branch.status, result.branch.reason) == ("used", named)
    bad = tmp_path / "clip.srt"
    bad.touch()
    result, _ = await read(tmp_path, clip(".mp4"), Track(path=str(bad)), lost=lost)
    assert result.branch.code == "empty_track"
    assert result.branch.reason == f"track without a language is empty: clip.srt; {named}"
    bad.write_bytes(b"\x00\x01\xff" * 100)
    with pytest.raises(JobFailed, match="lost while downloading"):
        await read(tmp_path, clip(".mp4"), Track(path=str(bad)), lost=lost)


async def test_corrupt_tracks_fail_the_branch_with_a_code(tmp_path: Path) -> None:
    bad = tmp_path / "clip.srt"
    bad.write_bytes(b"\x00\x01\xff" * 100)
    with pytest.raises(JobFailed, match="no subtitle file") as caught:
        await read(tmp_path, clip(".mp4"), Track(path=str(bad)), Track(stream=99))
    assert caught.value.error is not None
    assert caught.value.error["code"] == "corrupt_track"


def test_a_stream_that_is_no_subtitle_or_no_media_is_refused(tmp_path: Path) -> None:
    for stream in (0, 1, 99):
        with pytest.raises(TrackProblem, match="is no subtitle"):
            read_track(clip(".mp4"), 2.5, Track(stream=stream))
    fake = tmp_path / "fake.mp4"
    fake.write_text("text called mp4")
    with pytest.raises(TrackProblem, match="cannot be decoded"):
        read_track(fake, 2.5, Track(stream=2))


def test_names_with_quotes_and_newlines_are_read(tmp_path: Path) -> None:
    name = '-it\'s "a"\nclip;%s.mp4'
    path = make_clip(tmp_path / name, tracks=[("en", ENGLISH[:1])], size=(160, 90))
    beside = cues_file(tmp_path / f"{name}.srt", ENGLISH[:1])
    for track in (Track(stream=2), Track(path=str(beside))):
        assert [one.text for one in read_track(path, 2.5, track)[0]] == ["The river is wide."]


def test_the_best_track_comes_first() -> None:
    automatic = Track(stream=1, language="en", is_automatic=True)
    german = Track(stream=2, language="ger")
    english = Track(stream=3, language="en-US")
    missing = Track(url="https://example.org/a.vtt", language="en")
    tracks = [automatic, german, english, missing]
    assert best_first(tracks, "eng") == [english, automatic, german]
    assert best_first(tracks, "de") == [german, english, automatic]
    assert best_first(tracks, "fr") == best_first(tracks, None) == [german, english, automatic]

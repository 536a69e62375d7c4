"""Files of this machine: their streams, the tracks beside them, and those that are no media."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apps.extractor.tests.clips import Cue, copied_clip, cues_file, make_clip
from apps.extractor.tests.fetching import Fetcher, fetching
from apps.extractor.tests.site_server import Site
from fairlane import Permanent
from fairlane_extractor.child_side import ChildError
from fairlane_extractor.frames.sampling import FrameSampler, UnreadableFrames
from fairlane_extractor.sources.side_files import side_tracks
from fairlane_extractor.speech.sound import open_sound
from fairlane_extractor.tracks.embedded import read_stream
from fairlane_extractor.tracks.problem import TrackProblem

CUES: list[Cue] = [(0, 1, "The river is wide.")]


@pytest.fixture
async def fetcher(tmp_path: Path) -> AsyncIterator[Fetcher]:
    async with fetching(Site(), tmp_path / "data") as running:
        yield running


async def test_a_file_is_read_in_its_place_with_its_streams_and_tracks(
    fetcher: Fetcher, tmp_path: Path
) -> None:
    path = make_clip(
        tmp_path / "walk.mp4", seconds=2, sound="music", tracks=[("en", CUES), ("zh", CUES)],
        files={".srt": CUES, ".zh.ass": CUES},
    )  # fmt: skip
    media = await fetcher.parse(str(path))
    assert (media.kind, media.platform, media.title) == ("file", "local", "walk")
    local = await fetcher.download(media)
    assert local.path == str(path)
    assert (local.has_video, local.has_audio, local.width, local.height) == (True, True, 640, 360)
    assert local.seconds == pytest.approx(2, abs=0.3)
    embedded = [(one.language, one.format) for one in local.tracks if one.stream is not None]
    assert embedded == [("eng", "mov_text"), ("chi", "mov_text")]
    beside = [(one.language, one.format) for one in local.tracks if one.path is not None]
    assert beside == [(None, "srt"), ("zh", "ass")]
    with pytest.raises(Permanent, match="2 seconds, and 1 are allowed") as raised:
        await fetcher.download(media, longest_seconds=1.0)
    assert raised.value.code == "too_long"


@pytest.mark.parametrize(
    "name", ["-rf.mp4", 'it\'s "a"\nwalk.mp4', "concat:a|b %03d.mp4", "散步 #1?.mp4"]
)
async def test_names_with_quotes_newlines_and_dashes_are_only_names(
    fetcher: Fetcher, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied_clip(tmp_path / name, seconds=1, sound="none")
    monkeypatch.chdir(tmp_path)
    local = await fetcher.fetch(name)
    assert (Path(local.path).name, local.has_video, local.has_audio) == (name, True, False)


async def test_files_that_are_no_media_are_refused_with_a_code_each(
    fetcher: Fetcher, tmp_path: Path
) -> None:
    whole = copied_clip(tmp_path / "whole.mp4", seconds=1, sound="none").read_bytes()
    files = {
        "text.mp4": (b"only text\n" * 100, "not_a_media_file"),
        "list.m3u8": (b"#EXTM3U\n#EXTINF:1,\nwhole.mp4\n#EXT-X-ENDLIST\n", "not_a_media_file"),
        "concat.txt": (b"ffconcat version 1.0\nfile whole.mp4\n", "not_a_media_file"),
        "subtitles.srt": (b"1\n00:00:00,000 --> 00:00:01,000\nHello\n", "not_a_media_file"),
        "cut.mp4": (whole[: len(whole) // 3], "corrupt_media"),
        "page.mp4": (b"<!doctype html><html></html>", "not_a_media_file"),
    }
    for name, (content, code) in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Permanent) as raised:
            await fetcher.fetch(str(tmp_path / name))
        assert raised.value.code == code, name
        assert name in str(raised.value)


async def test_paths_without_a_file_are_refused_before_a_child_is_started(
    fetcher: Fetcher, tmp_path: Path
) -> None:
    (tmp_path / "empty.mp4").touch()
    os.mkfifo(tmp_path / "pipe.mp4")  # opening it would wait for a writer
    for path, code in {
        tmp_path / "empty.mp4": "empty_file",
        tmp_path / "missing.mp4": "not_found",
        tmp_path / ("long" * 1000): "not_found",
        tmp_path / "zero\0.mp4": "not_found",
        Path("~no-such-user/clip.mp4"): "not_found",
        tmp_path: "not_a_media_file",
        tmp_path / "pipe.mp4": "not_a_media_file",
        Path("/dev/zero"): "not_a_media_file",
    }.items():
        with pytest.raises(Permanent) as raised:
            await fetcher.parse(str(path))
        assert raised.value.code == code, path


async def test_sound_alone_and_a_file_without_a_length_in_its_head_are_media(
    fetcher: Fetcher, tmp_path: Path
) -> None:
    sound = make_clip(tmp_path / "sound.mp3", seconds=2, sound="music")
    local = await fetcher.fetch(str(sound))
    assert (local.has_video, local.has_audio) == (False, True)
    recording = without_length(make_clip(tmp_path / "recording.mkv", seconds=2, sound="music"))
    local = await fetcher.fetch(str(recording))
    assert local.seconds == pytest.approx(2, abs=0.3)


def without_length(path: Path) -> Path:
    """Overwrite the duration in the head of a Matroska file, as a browser leaves it out."""
    data = path.read_bytes()
    at = data.index(b"\x44\x89\x88")
    path.write_bytes(data[:at] + b"\xec\x89" + data[at + 2 :])  # the id of a void element
    return path


def test_files_beside_a_media_have_their_language_in_their_name(tmp_path: Path) -> None:
    media = tmp_path / "walk.one.mp4"
    names = ["walk.one.srt", "Walk.One.EN.vtt", "walk.one.zh-Hans.auto.ass", "walk.one.pt_BR.srt",
             "walk.two.srt", "walk.srt", "walk.one.txt"]  # fmt: skip
    for name in names:
        cues_file(tmp_path / name, CUES)
    (tmp_path / "walk.one.fr.srt").mkdir()
    found = [
        (Path(one.path or "").name, one.language, one.format, one.is_automatic)
        for one in side_tracks(media)
    ]
    assert found == [
        ("Walk.One.EN.vtt", "EN", "vtt", False),
        ("walk.one.pt_BR.srt", "pt-BR", "srt", False),
        ("walk.one.srt", None, "srt", False),
        ("walk.one.zh-Hans.auto.ass", "zh-Hans", "ass", True),
    ]


def test_a_file_beside_a_media_belongs_to_one_media(tmp_path: Path) -> None:
    """Words after the name are a language and kinds; the longest name of a media decides."""
    files = ["lecture.srt", "lecture.2.srt", "lecture.2.en.srt", "lecture.part.srt",
             "lecture.en.srt", "lecture.en.SDH.srt", "lecture.de.forced.cc.srt",
             "lecture.forced.zh-Hant-TW.srt", "lecture.es-419.srt", "lecture.de.fr.srt",
             "lecture.sdh.srt", "lecture.en.es.srt"]  # fmt: skip
    for name in files:
        cues_file(tmp_path / name, CUES)
    for name in ("lecture.wav", "lecture.en.wav", "lecture.2.wav", "lecture.es.txt"):
        (tmp_path / name).touch()

    def beside(name: str) -> list[tuple[str, str | None, str | None]]:
        tracks = side_tracks(tmp_path / name)
        return [(Path(one.path or "").name, one.language, one.name) for one in tracks]

    assert beside("lecture.wav") == [
        ("lecture.de.forced.cc.srt", "de", "forced cc"),
        ("lecture.es-419.srt", "es-419", None),
        ("lecture.forced.zh-Hant-TW.srt", "zh-Hant-TW", "forced"),
        ("lecture.sdh.srt", None, "sdh"),
        ("lecture.srt", None, None),
    ]
    assert beside("lecture.en.wav") == [
        ("lecture.en.SDH.srt", None, "SDH"),
        ("lecture.en.es.srt", "es", None),
        ("lecture.en.srt", None, None),
    ]
    assert beside("lecture.2.wav") == [
        ("lecture.2.en.srt", "en", None), ("lecture.2.srt", None, None),
    ]  # fmt: skip


async def test_the_title_of_a_file_does_not_control_the_line(
    fetcher: Fetcher, tmp_path: Path
) -> None:
    path = copied_clip(tmp_path / "a\u202egpj\u2066\x1b[31m b.mp4", seconds=1, sound="none")
    assert (await fetcher.parse(str(path))).title == "agpj[31m b"


def test_a_list_of_other_files_is_opened_by_no_part(tmp_path: Path) -> None:
    """FFmpeg would open the clip that the list names."""
    copied_clip(tmp_path / "clip.mp4", seconds=1, sound="music")
    path = tmp_path / "list.mp4"
    path.write_text("ffconcat version 1.0\nfile clip.mp4\n")
    with pytest.raises(UnreadableFrames):
        list(FrameSampler(path, threads=1).samples())
    with pytest.raises(TrackProblem, match="cannot be decoded"):
        read_stream(path, 2, "track en")
    with pytest.raises(ChildError) as raised, open_sound(str(path)):
        pass
    assert raised.value.code == "corrupt_media"

"""Subtitle files of every format and encoding: exact text and times, or a clear refusal."""

import os
from pathlib import Path

import pytest

from apps.extractor.tests.clips import Cue, cues_file, cues_text
from fairlane_extractor.media import Track
from fairlane_extractor.segments import Segment
from fairlane_extractor.tracks.problem import TrackProblem
from fairlane_extractor.tracks.reading import read_first, read_track

CUES: list[Cue] = [
    (0.5, 2.25, "The river is wide."),
    (2.5, 4.0, "We crossed it in 1984"),
    (5.0, 6.5, "at 3 < 5 o'clock & later"),
]
CHINESE: list[Cue] = [
    (0.5, 2.0, "我们沿着河边散步，看见一座老桥。"),
    (2.0, 4.0, "今天的天气非常好！"),
    (4.5, 6.0, "请订阅我的频道"),
]
MEDIA = Path("clip.mp4")


def read(
    path: Path, *, seconds: float | None = 60.0, language: str | None = None
) -> tuple[Segment, ...]:
    return read_track(MEDIA, seconds, Track(path=str(path), language=language))[0]


def read_text(folder: Path, suffix: str, text: str | bytes, **facts: str) -> list[str]:
    path = folder / f"clip{suffix}"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return [segment.text for segment in read(path, language=facts.get("language"))]


def as_cues(segments: tuple[Segment, ...]) -> list[Cue]:
    return [(segment.start, segment.end, segment.text) for segment in segments]


@pytest.mark.parametrize("suffix", [".srt", ".ass"])
def test_text_and_times_of_a_track_are_exact(tmp_path: Path, suffix: str) -> None:
    segments = read(cues_file(tmp_path / f"clip{suffix}", CUES))
    assert as_cues(segments) == CUES
    assert {segment.source for segment in segments} == {"subtitle"}


def test_webvtt_has_its_entities_decoded(tmp_path: Path) -> None:
    escaped = [
        (start, end, text.replace("&", "&amp;").replace("<", "&lt;")) for start, end, text in CUES
    ]
    assert as_cues(read(cues_file(tmp_path / "clip.vtt", escaped))) == CUES


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030", "gbk"],
)
@pytest.mark.parametrize("suffix", [".srt", ".vtt", ".ass"])
def test_chinese_tracks_are_read_in_any_encoding(
    tmp_path: Path, suffix: str, encoding: str
) -> None:
    path = cues_file(tmp_path / f"clip{suffix}", CHINESE, encoding=encoding)
    segments = read(path)
    assert as_cues(segments) == CHINESE
    assert {segment.language for segment in segments} == {"zh"}


@pytest.mark.parametrize(
    ("encoding", "text", "language"),
    [
        ("big5", "我們沿著河邊散步，看見一座老橋。", None),
        ("cp932", "川に沿って歩いて、古い橋を見ました。", None),
        ("cp949", "우리는 강을 따라 걸으며 오래된 다리를 보았습니다. 날씨가 좋았습니다.", None),
        ("cp1252", "Là-bas, l'été dernier, nous étions à la rivière.", None),
        ("cp1251", "Мы гуляли вдоль реки.", "ru"),
        ("cp1250", "Szliśmy wzdłuż rzeki.", "pol"),
        ("cp932", "東京都", "ja"),
        ("gb18030", "老桥", "chi"),
    ],
)
def test_older_encodings_are_recognised(
    tmp_path: Path, encoding: str, text: str, language: str | None
) -> None:
    path = cues_file(tmp_path / "clip.srt", [(1, 2, text)], encoding=encoding)
    assert [segment.text for segment in read(path, language=language)] == [text]


def test_a_damaged_character_does_not_change_the_encoding(tmp_path: Path) -> None:
    data = cues_text(".srt", CHINESE).encode() + b"\xe6\x88"
    assert read_text(tmp_path, ".srt", data)[0] == CHINESE[0][2]


def test_tags_styles_and_comments_are_removed(tmp_path: Path) -> None:
    srt = (
        "1\n00:00:01,000 --> 00:00:02,000 X1:10 X2:20\n"
        '{\\an8}<i>First</i> <font color="red">row</font>\n'
        "second row {laughs} <3\n\n2\n00:00:03,000 --> 00:00:04,000\n<b></b>\n\n"
        "3\n00:00:05.5 --> 00:00:06,000\nYear\n1984\n"
    )
    assert read_text(tmp_path, ".srt", srt) == ["First row second row {laughs} <3", "Year 1984"]
    vtt = (
        "WEBVTT - a title\nKind: captions\n\nSTYLE\n::cue { color: red }\n\n"
        "NOTE a comment\nof two lines\n\nintro\n00:01.000 --> 00:02.000 align:start\n"
        "<v Anna>Hello <c.loud>there</c>\n\nNOTE another\n\n"
        "00:03.000 --> 00:04.000\n<00:03.100>one <00:03.500>two\n"
    )
    assert read_text(tmp_path, ".vtt", vtt) == ["Hello there", "one two"]
    ass = cues_text(".ass", [
        (1, 2, r"{\an8\b1}Bold{\b0} text{a comment}\Nsecond\hrow"),
        (2, 3, r"{\p1}m 0 0 l 100 0 100 100{\p0}"),
    ])  # fmt: skip
    ass += "Comment: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,a comment\n"
    assert read_text(tmp_path, ".ass", ass) == ["Bold text second row"]


def test_a_track_without_numbers_and_empty_lines_is_read(tmp_path: Path) -> None:
    srt = "0:00:01,0 --> 0:00:02,0\nYear\n1984\n0:00:03,0 --> 0:00:04,0\n\n\nlate text\r\n"
    assert read_text(tmp_path, ".srt", srt) == ["Year 1984", "late text"]


def test_rolling_captions_are_read_once(tmp_path: Path) -> None:
    vtt = (
        "WEBVTT\n\n"
        "00:00:00.000 --> 00:00:02.000 align:start\n \nhello<00:00:00.500><c> world</c>\n\n"
        "00:00:02.000 --> 00:00:02.010\nhello world\n \n\n"
        "00:00:02.010 --> 00:00:04.000\nhello world\n"
        "this<00:00:02.500><c> is</c><00:00:03.000><c> it</c>\n\n"
        "00:00:04.000 --> 00:00:04.010\nthis is it\n \n\n"
        "00:00:04.010 --> 00:00:06.000\nthis is it\nand<00:00:05.000><c> more</c>\n"
    )
    path = tmp_path / "clip.vtt"
    path.write_text(vtt)
    assert as_cues(read(path)) == [
        (0.0, 2.01, "hello world"), (2.01, 4.01, "this is it"), (4.01, 6.0, "and more"),
    ]  # fmt: skip


def test_growing_captions_and_karaoke_are_read_once(tmp_path: Path) -> None:
    growing = [(0, 1, "we"), (1, 2, "we walk"), (2, 3, "we walk home"), (5, 6, "goodbye")]
    assert as_cues(read(cues_file(tmp_path / "clip.srt", growing))) == [
        (0, 3, "we walk home"), (5, 6, "goodbye"),
    ]  # fmt: skip
    karaoke = [
        (0, 2, r"{\k20}la{\k30} la"), (0, 2, r"{\blur3}la la"), (0.5, 1, "other"), (2, 3, "la la"),
    ]  # fmt: skip
    assert as_cues(read(cues_file(tmp_path / "clip.ass", karaoke))) == [
        (0, 3, "la la"), (0.5, 1, "other"),
    ]  # fmt: skip


def test_a_word_that_is_said_twice_stays_twice(tmp_path: Path) -> None:
    cues: list[Cue] = [
        (0, 1, "Yes.\nNo."), (1.1, 2, "No.\nNever."), (2.1, 3, "Good."), (3.1, 4, "Well."),
        (4.1, 5, "Well."),
    ]  # fmt: skip
    assert [text for _, _, text in as_cues(read(cues_file(tmp_path / "clip.srt", cues)))] == [
        "Yes. No.", "No. Never.", "Good.", "Well.", "Well.",
    ]  # fmt: skip


def test_a_few_bad_times_are_repaired_and_noted(tmp_path: Path) -> None:
    cues: list[Cue] = [*CUES, (7, 6, "backward"), (8, 9, "good"), (90, 91, "outside")]
    path = cues_file(tmp_path / "clip.srt", cues)
    segments, remark = read_track(MEDIA, 60.0, Track(path=str(path)))
    assert as_cues(segments) == [*CUES, (7, 8, "backward"), (8, 9, "good")]
    assert remark == (
        "track without a language has bad times: of 6 cues, 1 lie outside of the media and "
        "1 end before they begin; the rest is used"
    )


def refusal(path: Path, seconds: float = 60.0) -> tuple[str, str]:
    with pytest.raises(TrackProblem) as caught:
        read(path, seconds=seconds, language="en")
    return caught.value.code, str(caught.value)


def test_a_track_with_bad_times_is_refused(tmp_path: Path) -> None:
    code, message = refusal(cues_file(tmp_path / "clip.srt", CUES), seconds=0.1)
    assert code == "corrupt_track"
    assert message == "track en has bad times: of 3 cues, 2 lie outside of the media"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "empty_track"),
        (b" \r\n\n", "empty_track"),
        (b"WEBVTT\n\n", "empty_track"),
        (b"1\n00:00:01,000 --> 00:00:02,000\n\n", "empty_track"),
        (b"a letter, not subtitles", "corrupt_track"),
        (b"\x00\x01\xff\xfe" * 500, "corrupt_track"),
        (b"<html><body>404 Not Found</body></html>", "corrupt_track"),
        (b"[Script Info]\n[Events]\nFormat: x\nDialogue: broken\n", "corrupt_track"),
        (b"{\x22a\x22: [1, 2]}", "corrupt_track"),
    ],
)
def test_a_file_that_has_no_cues_is_refused(tmp_path: Path, text: bytes, code: str) -> None:
    path = tmp_path / "clip.srt"
    path.write_bytes(text)
    assert refusal(path)[0] == code


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "clip.srt"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    assert refusal(path) == (
        "corrupt_track", "track en has 100 MiB; a subtitle file has at most 16 MiB",
    )  # fmt: skip


def test_a_pipe_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.srt")
    assert refusal(tmp_path / "pipe.srt")[1] == "track en is not a file: pipe.srt"
    assert refusal(tmp_path / "no.srt")[1] == "track en cannot be read: No such file or directory"


@pytest.mark.parametrize("piece", ["<", "{\\", "\n", " ", "1\n", "<i", "0:", "00:00:01,0 -"])
def test_a_hostile_file_takes_linear_time(tmp_path: Path, piece: str) -> None:
    """A reader of quadratic time would need minutes for these: the time-out of tests ends it."""
    text = "1\n00:00:01,000 --> 00:00:02,000\n" + piece * (2**18 // len(piece)) + "\nend"
    path = tmp_path / "clip.srt"
    path.write_text(text)
    assert read(path)[-1].text.endswith("end")


def test_the_next_track_is_used_if_the_best_one_is_corrupt(tmp_path: Path) -> None:
    bad = tmp_path / "bad.srt"
    bad.write_text("no cues")
    good = cues_file(tmp_path / "good.srt", CUES)
    tracks = [Track(path=str(bad), language="eng"), Track(path=str(good), is_automatic=True)]
    notes: list[str] = []
    found = read_first(MEDIA, 60.0, tracks, notes.append)
    assert (found.method, len(found.segments)) == ("track without a language (automatic)", 3)
    assert found.reason == (
        "track en is no subtitle file: bad.srt; known are srt, vtt, ass, ssa, ttml, smi"
    )
    assert notes == ["reading track en", "reading track without a language (automatic)"]

"""Text on the frames of real clips, read by the real recogniser in the child of a real job."""

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from apps.extractor.tests.accuracy import frame_accuracy
from apps.extractor.tests.branch_jobs import Messages, local_media, run_in_job, settings_in
from apps.extractor.tests.clips import Caption, chinese_font, make_clip, shared_clip
from fairlane import JobFailed
from fairlane_extractor.child_program import run_child
from fairlane_extractor.frames import frames_child, recognise
from fairlane_extractor.frames.found_text import FoundText
from fairlane_extractor.frames.frames import MODULE
from fairlane_extractor.frames.reading import Box, Row
from fairlane_extractor.frames.sampling import Picture, UnreadableFrames
from fairlane_extractor.segments import BranchResult, Segment

ENGLISH: list[Caption] = [
    (0.5, 3.0, "We walked along the river, slowly."),
    (3.4, 5.4, "Step 1 of 5: open the box"),
    (5.4, 7.4, "Step 2 of 5: open the box"),
    (8.0, 10.5, "A caption of two rows\nstands here, isn't it?"),
    (11.0, 12.0, "The end"),
]
WATERMARK: Caption = (0.0, 12.5, "@fairlane", "corner")
CHINESE: list[Caption] = [
    (0.5, 3.0, "我们沿着河边散步，看见一座老桥。"),
    (3.4, 5.4, "第一步：打开盒子"),
    (5.4, 7.4, "第二步：打开盒子"),
    (8.0, 9.6, "请订阅我的频道，谢谢大家！"),
]
MOVING: list[Caption] = [
    (0.5, 2.5, "Everything behind this moves"),
    (3.0, 5.0, "and the next one follows it"),
]
needs_chinese = pytest.mark.skipif(chinese_font() is None, reason="no Chinese font is installed")


async def read(
    folder: Path, path: Path, *, seconds: float | None = None, **settings: Any
) -> BranchResult:
    local = local_media(path, seconds=seconds)
    known = settings_in(folder, **settings)
    return await run_in_job(
        folder, BranchResult, lambda ctx: recognise(ctx, known, local, folder, Messages())
    )


async def find(folder: Path, path: Path, progress: Messages | None = None) -> FoundText:
    """Return the answer of the child, which counts its work."""

    def follow(name: str, value: Any) -> None:
        if progress is not None:
            progress(value["percent"], value["message"])

    request = {"path": str(path), "seconds": 12.5}
    return await run_in_job(
        folder, FoundText, lambda ctx: run_child(ctx, MODULE, request, on_message=follow)
    )


def assert_times(captions: list[Caption], segments: list[Segment]) -> None:
    """Compare times; two samples a second leave a quarter of a second in doubt."""
    assert len(segments) == len(captions)
    for caption, segment in zip(captions, segments, strict=True):
        assert segment.start == pytest.approx(caption[0], abs=0.36), segment
        assert segment.end == pytest.approx(caption[1], abs=0.36), segment


async def test_english_captions_and_a_watermark_are_read(tmp_path: Path) -> None:
    clip = shared_clip(".mp4", captions=[*ENGLISH, WATERMARK], sound="none", background="scenes")
    progress = Messages()
    found = await find(tmp_path, clip, progress)
    watermark, *captions = sorted(
        found.segments, key=lambda one: (one.text != "@fairlane", one.start)
    )
    assert_times([WATERMARK], [watermark])
    assert_times(ENGLISH, captions)
    assert frame_accuracy([*ENGLISH, WATERMARK], found.segments) >= 0.95
    assert all(one.confidence and one.confidence > 0.8 for one in found.segments)
    assert captions[3].text == "A caption of two rows stands here, isn't it?"
    assert progress.percents == sorted(progress.percents)
    assert progress.percents[-1] > 50


@needs_chinese
async def test_chinese_captions_are_read(tmp_path: Path) -> None:
    clip = shared_clip(".mp4", captions=CHINESE, sound="none")
    result = await read(tmp_path, clip, seconds=10.1)
    assert_times(CHINESE, list(result.segments))
    assert frame_accuracy(CHINESE, result.segments) >= 0.95
    assert {one.language for one in result.segments} == {"zh"}
    assert (result.branch.status, result.branch.method, result.branch.segments) == (
        "used", "rapidocr", 4,
    )  # fmt: skip


@needs_chinese
async def test_a_caption_and_its_translation_are_two_segments(tmp_path: Path) -> None:
    caption: Caption = (0.0, 1.0, "这条河很宽\nThe river is wide")
    found = await find(tmp_path, shared_clip(".mp4", captions=[caption], sound="none"))
    assert [(one.text, one.language) for one in found.segments] == [
        ("这条河很宽", "zh"), ("The river is wide", None),
    ]  # fmt: skip


async def test_captions_on_a_moving_picture_are_read_once(tmp_path: Path) -> None:
    clip = shared_clip(".mp4", captions=MOVING, sound="none", background="moving")
    found = await find(tmp_path, clip)
    assert_times(MOVING, list(found.segments))
    assert frame_accuracy(MOVING, found.segments) >= 0.95
    assert found.read == found.sampled  # each frame differs


async def test_a_picture_that_stands_is_read_once(tmp_path: Path) -> None:
    caption: Caption = (0.0, 8.5, "A slide that stands", "middle")
    clip = shared_clip(".mp4", captions=[caption], seconds=8.5, sound="none")
    found = await find(tmp_path, clip)
    assert (found.sampled, found.read, found.recognised) == (17, 1, 1)
    assert [one.text for one in found.segments] == ["A slide that stands"]


async def test_the_same_row_is_recognised_once_while_others_change(tmp_path: Path) -> None:
    captions: list[Caption] = [(0.0, 4.0, "A title that stays", "top")]
    captions += [(float(at), at + 1.0, f"Number {at}") for at in range(4)]
    found = await find(tmp_path, shared_clip(".mp4", captions=captions, seconds=4, sound="none"))
    assert [one.text for one in found.segments if one.text.startswith("N")] == [
        "Number 0", "Number 1", "Number 2", "Number 3",
    ]  # fmt: skip
    assert (found.read, found.recognised) == (4, 5)


async def test_a_video_that_was_filmed_upright_is_read_upright(tmp_path: Path) -> None:
    caption: Caption = (0.0, 1.0, "turned")
    straight = shared_clip(".mp4", captions=[caption], seconds=1, sound="none")
    path = tmp_path / "turned.mp4"
    with av.open(str(straight)) as source, av.open(str(path), "w") as target:
        stream = target.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 360, 640, "yuv420p"
        stream.set_display_rotation(90)
        for frame in source.decode(video=0):
            picture = frame.to_ndarray(format="rgb24").astype(np.uint8)
            turned = np.ascontiguousarray(np.rot90(picture, -1))
            target.mux(stream.encode(av.VideoFrame.from_ndarray(turned, format="rgb24")))
        target.mux(stream.encode())
    found = await find(tmp_path, path)
    assert [one.text for one in found.segments] == ["turned"]


async def test_a_video_without_text_is_used_and_says_so(tmp_path: Path) -> None:
    result = await read(tmp_path, shared_clip(".mp4", seconds=1, sound="none"))
    assert (result.branch.status, result.branch.code) == ("used", "no_text")
    assert result.branch.reason == "no text was found on the frames"
    assert result.segments == ()


async def test_the_cover_of_a_song_is_not_a_video(tmp_path: Path) -> None:
    path = tmp_path / "song.mp3"
    with av.open(str(path), "w") as file:
        sound = file.add_stream("libmp3lame", rate=16_000, layout="mono")
        cover = file.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 64, 64, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        picture = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
        silence = np.zeros((1, 16_000), np.int16)
        frame = av.AudioFrame.from_ndarray(silence, format="s16", layout="mono")
        frame.sample_rate = 16_000
        file.mux([*cover.encode(picture), *cover.encode(), *sound.encode(frame), *sound.encode()])
    result = await read(tmp_path, path)
    assert (result.branch.status, result.branch.code) == ("skipped", "no_video")


async def test_a_file_that_is_no_video_fails_the_branch_with_a_code(tmp_path: Path) -> None:
    path = tmp_path / "fake.mp4"
    path.write_text("text called mp4")
    with pytest.raises(JobFailed, match="the frames cannot be read") as caught:
        await read(tmp_path, path)
    assert caught.value.error is not None
    assert caught.value.error["code"] == "unreadable_frames"


async def test_damaged_frames_are_skipped_and_noted(tmp_path: Path) -> None:
    captions: list[Caption] = [(0.0, 6.0, "Still readable")]
    path = make_clip(tmp_path / "damaged.mkv", captions=captions, background="moving")
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 2, len(data) * 3 // 4, 97):
        data[place] ^= 0xFF
    path.write_bytes(data)
    result = await read(tmp_path, path, seconds=6.5)
    assert "Still readable" in [one.text for one in result.segments]
    assert result.branch.status == "used"


async def test_a_recogniser_without_memory_fails_the_branch_with_a_code(tmp_path: Path) -> None:
    clip = shared_clip(".mp4", captions=[(0.0, 1.0, "too much")], sound="none")
    with pytest.raises(JobFailed) as caught:
        await read(tmp_path, clip, recogniser_memory_bytes=400 * 2**20)
    assert caught.value.error is not None
    assert caught.value.error["code"] == "out_of_memory"


class FailingReader:
    """A reader that fails on the first picture, or on all of them."""

    def __init__(self, failures: int) -> None:
        self.recognised = 0
        self._failures = failures

    def read(self, picture: Picture) -> list[Row]:
        self._failures -= 1
        if self._failures >= 0:
            raise RuntimeError("an unreadable frame")
        return [Row(Box(0.2, 0.8, 0.9, 0.9), "readable", 0.95)]


def test_a_frame_on_which_the_recogniser_fails_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    clip = shared_clip(".mp4", captions=MOVING, sound="none", background="moving")
    reader = FailingReader(1)
    monkeypatch.setattr(frames_child, "TextReader", lambda threads: reader)
    found = frames_child.find_text(clip, 5.5, 1, Messages())
    assert [(one.text, one.end) for one in found.segments] == [("readable", 5.5)]
    assert (found.reason, found.read) == ("damaged frames that were skipped: 1", found.sampled - 1)
    reader = FailingReader(1000)
    with pytest.raises(UnreadableFrames, match="on each of them with RuntimeError: an unreadable"):
        frames_child.find_text(clip, 5.5, 1, Messages())

"""Whole extractions of files: each branch, each fallback, and what the result says of them."""

from pathlib import Path

import pytest

from apps.extractor.tests.clips import make_clip
from apps.extractor.tests.measures import character_accuracy
from apps.extractor.tests.running import branch_of, extract, extracting, leftovers, text_of
from fairlane_extractor import extraction
from fairlane_extractor.media import LocalMedia
from fairlane_extractor.segments import Segment

SPOKEN = "The quick brown fox jumps over the lazy dog near the river bank."


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip with speech and captions on its frames, and without subtitles."""
    return make_clip(
        tmp_path_factory.mktemp("clips") / "talk.mp4", speech=SPOKEN,
        captions=[(0.0, 2.0, "Welcome to the river"), (2.0, 4.0, "欢迎来到河边")],
    )  # fmt: skip


async def test_a_clip_without_subtitles_is_read_and_heard(talk: Path, tmp_path: Path) -> None:
    async with extracting(tmp_path / "data") as extractor:
        job = await extract(extractor, talk)
        result = text_of(extractor, job)
    assert {line.sources for line in result.lines} >= {("speech",), ("frame",)}
    spoken = " ".join(line.text for line in result.lines if "speech" in line.sources)
    assert character_accuracy(SPOKEN, spoken) >= 0.85
    shown = " ".join(line.text for line in result.lines if "frame" in line.sources)
    assert "Welcome to the river" in shown
    assert "欢迎来到河边" in shown
    assert branch_of(result, "subtitle").code == "no_tracks"
    assert branch_of(result, "asr").method == "moonshine"
    assert branch_of(result, "ocr").status == "used"
    assert [stage.status for stage in job.stages] == ["done"] * 6
    assert job.result["media"] == str(talk)
    assert leftovers(tmp_path / "data") == []


async def test_subtitles_make_speech_recognition_unnecessary(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "tracks.mp4", speech=SPOKEN, tracks=[("en", [(0.5, 2.5, "A fox, and a dog.")])]
    )
    async with extracting(tmp_path / "data") as extractor:
        job = await extract(extractor, clip, frames="never")
        result = text_of(extractor, job)
    assert [line.text for line in result.lines] == ["A fox, and a dog."]
    assert [line.sources for line in result.lines] == [("subtitle",)]
    assert branch_of(result, "asr").code == "has_subtitles"
    assert branch_of(result, "ocr").code == "not_wanted"
    statuses = {stage.name: stage.status for stage in job.stages}
    assert (statuses["asr"], statuses["ocr"]) == ("skipped", "skipped")


async def test_a_corrupt_track_falls_back_to_speech(talk: Path, tmp_path: Path) -> None:
    clip = tmp_path / "talk.mp4"
    clip.write_bytes(talk.read_bytes())
    clip.with_suffix(".srt").write_bytes(b"1\n00:00:99,999 -> soon\n\x00\xff\n" * 20)
    async with extracting(tmp_path / "data") as extractor:
        result = text_of(extractor, await extract(extractor, clip, frames="never"))
    assert branch_of(result, "subtitle").status == "failed"
    assert branch_of(result, "subtitle").code == "corrupt_track"
    assert branch_of(result, "asr").status == "used"
    assert "fox" in " ".join(line.text for line in result.lines)


async def test_recognisers_without_enough_memory_end_with_a_reason_and_the_next_task_runs(
    talk: Path, tmp_path: Path
) -> None:
    async with extracting(tmp_path / "data", recogniser_memory_bytes=64 * 2**20) as extractor:
        clip = make_clip(tmp_path / "t.mp4", tracks=[("en", [(0.0, 1.0, "kept")])], seconds=2)
        starved = await extract(extractor, talk)
        kept = text_of(extractor, await extract(extractor, clip, speech="always"))
    assert starved.error is not None
    assert starved.error.code == "out_of_memory"
    for reason in ("the large model failed", "the small model failed", "frames failed"):
        assert reason in starved.error.message
    assert [line.text for line in kept.lines] == ["kept"]
    assert branch_of(kept, "ocr").status == "failed"


async def test_the_smaller_model_hears_what_the_larger_one_has_no_memory_for(
    talk: Path, tmp_path: Path
) -> None:
    async with extracting(tmp_path / "data", recogniser_memory_bytes=450 * 2**20) as extractor:
        result = text_of(extractor, await extract(extractor, talk, frames="never"))
    speech = branch_of(result, "asr")
    assert (speech.status, speech.method) == ("used", "pocketsphinx")
    assert "the large model failed" in str(speech.reason)
    assert "fox" in " ".join(line.text for line in result.lines)


async def test_a_failing_merge_leaves_the_raw_segments(
    talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(segments: object) -> None:
        raise RuntimeError("the merge is broken")

    monkeypatch.setattr(extraction, "merge", fail)
    async with extracting(tmp_path / "data") as extractor:
        result = text_of(extractor, await extract(extractor, talk, frames="never"))
    assert branch_of(result, "merging").status == "failed"
    assert "the merge is broken" in str(branch_of(result, "merging").reason)
    assert "fox" in " ".join(line.text for line in result.lines)


async def test_odd_files_end_with_a_reason_and_the_next_job_runs(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "empty.mp4").write_bytes(b"")
    (files / "words.mp4").write_text("this is a text and no video\n" * 100)
    odd = make_clip(files / "it's \"odd\"\nname.mp4", seconds=1, sound="none",
                    captions=[(0.0, 1.0, "Odd name")])  # fmt: skip
    async with extracting(tmp_path / "data") as extractor:
        empty = await extract(extractor, files / "empty.mp4")
        words = await extract(extractor, files / "words.mp4")
        missing = await extract(extractor, files / "missing.mp4")
        result = text_of(extractor, await extract(extractor, odd))
    assert [job.state for job in (empty, words, missing)] == ["failed"] * 3
    codes = [job.error.code for job in (empty, words, missing) if job.error]
    assert codes[:2] == ["empty_file", "not_a_media_file"]
    assert "Odd name" in " ".join(line.text for line in result.lines)
    assert branch_of(result, "asr").code == "no_audio"


def test_the_stages_of_an_extraction_are_those_of_the_document() -> None:
    names = ("parsing", "downloading", "subtitle", "asr", "ocr", "merging")
    assert names == extraction.STAGES
    assert LocalMedia.__struct_fields__[:2] == ("path", "bytes")
    assert Segment.__struct_fields__[:3] == ("start", "end", "text")

"""Spoken sentences become segments with times: real recognisers, in the child of a real job."""

import struct
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from apps.extractor.tests.branch_jobs import Messages, local_media, run_in_job, settings_in
from apps.extractor.tests.clips import RATE, shared_clip, spoken
from apps.extractor.tests.measures import word_error_rate
from fairlane import JobFailed
from fairlane_extractor import speech
from fairlane_extractor.segments import BranchResult

VOICES = ("slt", "rms", "awb", "kal")
SENTENCES = (
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "Please close the window before you leave the house this evening.",
    "She bought fresh bread and apples at the market on the corner.",
    "The train to the city was late because of heavy snow.",
)
MIB = 2**20
_TOO_SMALL: tuple[tuple[speech.Model, int], ...] = (("large", 450 * MIB), ("small", 320 * MIB))


async def recognise(
    folder: Path,
    path: Path,
    *,
    model: speech.Model = "large",
    language: str | None = None,
    has_audio: bool = True,
    **settings: Any,
) -> tuple[BranchResult, Messages]:
    progress = Messages()
    local = local_media(path)
    if not has_audio:
        local = type(local)(**{**_fields(local), "has_audio": False})
    chosen = settings_in(folder, **settings)
    result = await run_in_job(
        folder,
        BranchResult,
        lambda ctx: speech.recognise(ctx, chosen, local, folder, model, language, progress),
    )
    return result, progress


def _fields(struct_: Any) -> dict[str, Any]:
    return {name: getattr(struct_, name) for name in struct_.__struct_fields__}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """Four voices, a sentence each with a pause before it; and the begins of the sentences."""
    pieces, starts, position = [], [], 0
    for voice, text in zip(VOICES, SENTENCES, strict=True):
        pause = np.zeros(RATE, np.int16)
        pieces += [pause, spoken(text, voice)]
        starts.append((position + len(pause)) / RATE)
        position += sum(map(len, pieces[-2:]))
    path = tmp_path_factory.mktemp("speech") / "talk - 'four' voices\n.mka"
    write_sound(path, np.concatenate(pieces))
    return path, starts


def write_sound(path: Path, samples: Any, *, language: str | None = None) -> None:
    with av.open(f"file:{path}", "w") as file:
        stream = file.add_stream("pcm_s16le", rate=RATE, layout="mono")
        if language:
            stream.metadata["language"] = language
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
        frame.sample_rate = RATE
        file.mux(stream.encode(frame))
        file.mux(stream.encode())


@pytest.mark.parametrize(
    ("model", "method", "bar"), [("large", "moonshine", 0.1), ("small", "pocketsphinx", 0.15)]
)
async def test_four_voices_are_understood_with_the_times_of_their_sentences(
    talk: tuple[Path, list[float]], tmp_path: Path, model: speech.Model, method: str, bar: float
) -> None:
    path, starts = talk
    result, progress = await recognise(tmp_path, path, model=model)
    assert result.branch.status == "used"
    assert result.branch.method == method
    assert result.branch.segments == len(result.segments) >= len(SENTENCES)
    found = " ".join(segment.text for segment in result.segments)
    assert word_error_rate(" ".join(SENTENCES), found) <= bar
    for start in starts:
        assert min(abs(segment.start - start) for segment in result.segments) < 0.5
    for segment in result.segments:
        assert 0 < segment.end - segment.start <= 10
        assert (segment.source, segment.language) == ("speech", "en")
        known = segment.confidence is not None
        assert known == (method == "pocketsphinx")
    assert result.segments == tuple(sorted(result.segments, key=lambda one: one.start))
    assert progress.percents == sorted(progress.percents)
    assert 50 < progress.percents[-1] < 100


async def test_a_media_without_sound_is_skipped(tmp_path: Path) -> None:
    path = shared_clip(".mp4", sound="none", seconds=1.0)
    for has_audio in (False, True):  # as the download reports it, and as the child finds it
        result, _ = await recognise(tmp_path, path, has_audio=has_audio)
        assert (result.branch.status, result.branch.code) == ("skipped", "no_audio")


@pytest.mark.parametrize(
    ("sound", "code", "model"),
    [("silence", "silence", "small"), ("music", "no_speech", "large")],
)
async def test_silence_and_music_have_no_text_and_a_reason(
    tmp_path: Path, sound: Any, code: str, model: speech.Model
) -> None:
    path = shared_clip(".m4a", sound=sound, seconds=12.0)
    result, _ = await recognise(tmp_path, path, model=model)
    assert result.segments == ()
    assert (result.branch.status, result.branch.code) == ("used", code)
    assert "12 s" in (result.branch.reason or "")


async def test_a_language_without_a_model_is_skipped_with_the_way_to_get_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "chinese.mka"
    write_sound(path, spoken(SENTENCES[0]), language="chi")
    for language in ("zh-Hans", None):  # as the site names it, and as the sound itself does
        result, _ = await recognise(tmp_path, path, language=language)
        assert (result.branch.status, result.branch.code) == ("skipped", "language_without_model")
        assert result.branch.method is None
        assert "FAIRLANE_EXTRACT_WHISPER_MODEL" in (result.branch.reason or "")
    result, _ = await recognise(tmp_path, path, language="en")  # the user knows better
    assert result.branch.status == "used"
    assert result.segments


async def test_an_engine_beyond_its_memory_fails_and_the_smaller_one_fits(
    tmp_path: Path,
) -> None:
    path = shared_clip(".wav", speech=SENTENCES[1])
    for model, bound in _TOO_SMALL:
        with pytest.raises(JobFailed) as failed:
            await recognise(tmp_path, path, model=model, recogniser_memory_bytes=bound)
        assert code_of(failed.value) == "out_of_memory"
    result, _ = await recognise(tmp_path, path, model="small", recogniser_memory_bytes=450 * MIB)
    assert result.branch.method == "pocketsphinx"
    assert result.segments


async def test_two_hours_of_silence_end_in_bounded_memory(tmp_path: Path) -> None:
    path = silent_wav(tmp_path / "silence.wav", 2 * 3600)
    result, progress = await recognise(
        tmp_path, path, model="small", recogniser_memory_bytes=450 * MIB
    )
    assert (result.branch.status, result.branch.code) == ("used", "silence")
    assert "7,200 s" in (result.branch.reason or "")
    assert len(progress.percents) > 90


async def test_text_that_is_called_a_video_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.mp4"
    path.write_text("This is not a video.")
    with pytest.raises(JobFailed) as failed:
        await recognise(tmp_path, path)
    assert code_of(failed.value) == "corrupt_media"


async def test_a_wrong_model_folder_is_named_and_the_small_model_is_the_next_engine(
    tmp_path: Path,
) -> None:
    path = shared_clip(".wav", speech=SENTENCES[1])
    model = tmp_path / "model"
    model.mkdir()
    with pytest.raises(JobFailed, match="has no model") as failed:
        await recognise(tmp_path, path, whisper_model=model)
    assert code_of(failed.value) == "bad_model"
    result, _ = await recognise(tmp_path, path, model="small", whisper_model=model)
    assert result.branch.method == "moonshine"


async def test_a_whisper_model_of_the_user_is_used(tmp_path: Path) -> None:
    pytest.importorskip("faster_whisper", reason="an optional dependency")
    from apps.extractor.tests.whisper_model import make_whisper_model

    model = make_whisper_model(tmp_path / "model")
    path = shared_clip(".wav", speech=[(1.0, SENTENCES[1])])
    result, _ = await recognise(tmp_path, path, whisper_model=model)
    assert result.branch.method == "faster-whisper"
    (segment,) = result.segments
    assert (segment.text, segment.language) == ("hello river", "en")
    assert segment.start == pytest.approx(1, abs=0.4)
    assert segment.confidence is not None
    assert segment.confidence > 0.9
    with pytest.raises(JobFailed, match="does not know the language") as failed:
        await recognise(tmp_path, path, language="zh", whisper_model=model)
    assert code_of(failed.value) == "language_without_model"


def code_of(error: JobFailed) -> Any:
    return (error.error or {}).get("code")


def silent_wav(path: Path, seconds: int) -> Path:
    """Create a file of silence that needs no space on the disk."""
    size = seconds * RATE * 2
    with path.open("wb") as file:
        file.write(struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", size + 36, b"WAVE", b"fmt ", 16, 1, 1,
                               RATE, RATE * 2, 2, 16, b"data", size))  # fmt: skip
        file.truncate(size + 44)
    return path

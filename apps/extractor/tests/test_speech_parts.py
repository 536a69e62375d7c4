"""The parts of speech recognition: sound, voice activity, sentences, folders of models."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from apps.extractor.tests.clips import shared_clip, spoken
from apps.extractor.tests.measures import character_accuracy, word_error_rate, words_of
from fairlane_extractor.child_side import ChildError
from fairlane_extractor.settings import Settings
from fairlane_extractor.speech import sherpa, whisper
from fairlane_extractor.speech.activity import Cuts, Utterance, UtteranceFinder
from fairlane_extractor.speech.choice import choose_engine, explain_language, knows_language
from fairlane_extractor.speech.engine import Phrase, Word
from fairlane_extractor.speech.repetition import is_loop
from fairlane_extractor.speech.sentences import split_phrase
from fairlane_extractor.speech.sound import RATE, Block, Samples, open_sound
from fairlane_extractor.speech.speech_child import load_engine

SENTENCE = "The river is wide."
FLUENT = (
    "An old sailor told us that he had crossed the ocean more than twenty times.",
    "One hundred and twenty steps lead to the top of the tower.",
    "From there you can see the whole town and the hills behind it.",
    "We bought some bread and cheese and ate our lunch on a bench near the water.",
)


def decoded(path: Path, **wishes: float | str) -> list[Block]:
    with open_sound(str(path), **wishes) as sound:  # type: ignore[arg-type]
        assert sound is not None
        return list(sound.blocks())


def blocks_of(samples: Samples) -> Iterator[Block]:
    for begin in range(0, len(samples), RATE):
        yield Block(begin / RATE, samples[begin : begin + RATE])


def utterances(blocks: Iterator[Block] | list[Block], cuts: Cuts = Cuts()) -> list[Utterance]:
    finder = UtteranceFinder(cuts)
    return [*(one for block in blocks for one in finder.add(block)), *finder.finish()]


# sound


@pytest.mark.parametrize("suffix", [".mp4", ".wav", ".mp3", ".flac", ".mkv"])
def test_the_sound_of_a_file_comes_in_blocks_of_a_second(suffix: str) -> None:
    blocks = decoded(shared_clip(suffix, speech=SENTENCE, seconds=3.0))
    assert sum(len(one.samples) for one in blocks) / RATE == pytest.approx(3, abs=0.15)
    assert all(len(one.samples) < 2 * RATE for one in blocks)
    for one, following in pairwise(blocks):
        assert following.start == pytest.approx(one.start + len(one.samples) / RATE)


def test_channels_and_rates_become_one(tmp_path: Path) -> None:
    path = tmp_path / "stereo.wav"
    tone = (8000 * np.sin(np.arange(44_100 * 2) * 2 * np.pi * 440 / 44_100)).astype(np.int16)
    with av.open(str(path), "w") as file:
        stream = file.add_stream("pcm_s16le", rate=44_100, layout="stereo")
        frame = av.AudioFrame.from_ndarray(np.repeat(tone, 2)[np.newaxis], layout="stereo")
        frame.sample_rate = 44_100
        file.mux(stream.encode(frame))
        file.mux(stream.encode())
    samples = np.concatenate([block.samples for block in decoded(path)])
    assert len(samples) / RATE == pytest.approx(2, abs=0.02)
    assert int(np.abs(np.fft.rfft(samples[:RATE])).argmax()) == 440


def test_sound_that_begins_later_than_the_pictures_has_the_times_of_the_media(
    tmp_path: Path,
) -> None:
    path = tmp_path / "late.mkv"
    with av.open(str(path), "w") as file:
        video = file.add_stream("libx264", rate=10)
        video.width = video.height = 64
        audio = file.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for number in range(60):
            picture = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
            picture.pts = number
            file.mux(video.encode(picture))
        file.mux(video.encode())
        for begin in (2, 4):
            frame = av.AudioFrame.from_ndarray(np.ones((1, RATE), np.int16), layout="mono")
            frame.sample_rate, frame.pts = RATE, begin * RATE
            file.mux(audio.encode(frame))
        file.mux(audio.encode())
    starts = [block.start for block in decoded(path)]
    assert starts == [pytest.approx(2, abs=0.01), pytest.approx(4, abs=0.01)]


def test_a_file_without_sound_has_none() -> None:
    with open_sound(str(shared_clip(".mp4", sound="none", seconds=1.0))) as sound:
        assert sound is None


@pytest.mark.parametrize("content", [b"", b"this is text", b"\x00" * 4096])
def test_a_file_that_is_no_media_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.mp4"
    path.write_bytes(content)
    with pytest.raises(ChildError, match="cannot be opened") as refused, open_sound(str(path)):
        pass
    assert refused.value.code == "corrupt_media"


def test_a_playlist_that_is_called_media_opens_no_other_file(tmp_path: Path) -> None:
    clip = shared_clip(".wav", speech=SENTENCE, seconds=3.0)
    path = tmp_path / "list.mp4"
    path.write_text(f"ffconcat version 1.0\nfile http://127.0.0.1:9/a.wav\nfile {clip}\n")
    with pytest.raises(ChildError):
        decoded(path)


def test_a_file_that_ends_too_early_gives_the_sound_before_its_end(tmp_path: Path) -> None:
    whole = shared_clip(".mp3", speech=SENTENCE, seconds=3.0).read_bytes()
    path = tmp_path / "cut.mp3"
    path.write_bytes(whole[: len(whole) // 2] + bytes(range(256)) * 20)
    seconds = sum(len(block.samples) for block in decoded(path)) / RATE
    assert 1 < seconds < 2.5


def test_sound_beyond_the_longest_time_is_refused() -> None:
    with pytest.raises(ChildError) as refused:
        decoded(shared_clip(".wav", speech=SENTENCE, seconds=3.0), longest_seconds=1.5)
    assert refused.value.code == "too_long"


# voice activity


def test_a_pause_ends_an_utterance_and_its_times_are_those_of_the_sentence() -> None:
    clip = shared_clip(".wav", speech=[(1.0, SENTENCE), (4.0, "We crossed the bridge.")])
    found = utterances(decoded(clip))
    assert [one.start for one in found] == [pytest.approx(1, abs=0.4), pytest.approx(4, abs=0.4)]
    for one, text in zip(found, (SENTENCE, "We crossed the bridge."), strict=True):
        assert len(one.samples) == pytest.approx(len(spoken(text)), abs=0.6 * RATE)


def test_speech_without_pauses_is_cut_before_the_bound_and_loses_nothing() -> None:
    voice = spoken("around the rugged rock the ragged rascal ran and then ran back again")
    samples = np.tile(voice[np.abs(voice) > 100], 12)
    found = utterances(blocks_of(samples), Cuts(longest_seconds=8.0, short_pause_seconds=60))
    assert len(found) > 2
    assert all(len(one.samples) <= 8.1 * RATE for one in found)
    assert sum(len(one.samples) for one in found) == pytest.approx(len(samples), abs=RATE)
    for one, following in pairwise(found):
        assert following.start == pytest.approx(one.start + len(one.samples) / RATE, abs=0.04)


@pytest.mark.parametrize("level", [0, 3])
def test_silence_has_no_utterance(level: int) -> None:
    noise = np.random.default_rng(1).normal(0, level, 20 * RATE).astype(np.int16)
    finder = UtteranceFinder()
    assert [one for block in blocks_of(noise) for one in finder.add(block)] == []
    assert finder.is_silent
    assert finder.position == pytest.approx(20, abs=0.1)


@pytest.mark.parametrize("pause", [0.1, 0.15])
def test_fluent_speech_is_cut_between_its_sentences(pause: float) -> None:
    gap = np.zeros(round(pause * RATE), np.int16)
    pieces, gaps, position = [], [], 0
    for text in FLUENT:
        voice = spoken(text, "rms")
        loud = np.flatnonzero(np.abs(voice) > 200)
        pieces += [voice[loud[0] : loud[-1]], gap]
        position += len(pieces[-2])
        gaps.append((position / RATE, (position + len(gap)) / RATE))
        position += len(gap)
    cuts = Cuts(longest_seconds=8.0, short_pause_seconds=60, pause_seconds=60)
    found = utterances(blocks_of(np.concatenate(pieces)), cuts)
    assert len(found) > 2
    for one in found[1:]:
        assert any(begin - 0.05 <= one.start <= end + 0.05 for begin, end in gaps), one.start


def test_fluent_speech_is_read_once() -> None:
    engine = load_engine("moonshine", None, "en")
    samples = spoken(" ".join(FLUENT), "rms")
    found = [
        phrase.text
        for utterance in utterances(blocks_of(samples), engine.cuts)
        for phrase in engine.recognise(utterance.samples)
    ]
    words = [words_of(text) for text in found]
    assert word_error_rate(" ".join(FLUENT), " ".join(found)) <= 0.12
    for one, following in pairwise(words):
        assert not set(one[-2:]) & set(following[:2])


def test_silence_and_noise_have_no_invented_word() -> None:
    engine = load_engine("moonshine", None, "en")
    noise = np.random.default_rng(1).normal(0, 900, 2 * RATE).astype(np.int16)
    for sound in (noise, np.zeros(2 * RATE, np.int16)):
        assert engine.recognise(sound) == []


def test_a_gap_in_the_sound_ends_an_utterance() -> None:
    voice = spoken(SENTENCE)
    found = utterances([Block(0.0, voice), Block(60.0, voice)])
    assert [one.start for one in found] == [pytest.approx(0, abs=0.4), pytest.approx(60, abs=0.4)]


# sentences


def test_a_phrase_is_split_at_the_ends_of_its_sentences() -> None:
    phrase = Phrase(2.0, 8.0, "Dr. Smith is at home. Where are you? I am on the bridge.", 0.5, "en")
    split = split_phrase(phrase)
    assert [one.text for one in split] == [
        "Dr. Smith is at home.", "Where are you?", "I am on the bridge.",
    ]  # fmt: skip
    assert (split[0].start, split[-1].end) == (2.0, 8.0)
    assert all(one.end == two.start for one, two in pairwise(split))
    assert {one.confidence for one in split} == {0.5}


def test_a_long_sentence_is_split_between_words() -> None:
    words = tuple(Word(n, n + 0.5, f" word{n}", n / 100) for n in range(25))
    split = split_phrase(Phrase(0, 24.5, "…", None, "en", words))
    assert len(split) == 3
    assert all(one.end - one.start <= 10 for one in split)
    assert " ".join(one.text for one in split) == " ".join(f"word{n}" for n in range(25))
    assert split[0].confidence == pytest.approx(np.mean([n / 100 for n in range(10)]))


def test_chinese_is_split_without_spaces() -> None:
    split = split_phrase(Phrase(0, 12, "我们过了桥，河很宽。你在哪里？我在家。", None, "zh"))
    assert [one.text for one in split] == ["我们过了桥，河很宽。", "你在哪里？", "我在家。"]


def test_text_that_repeats_itself_is_found() -> None:
    assert is_loop("thank you thank you thank you thank you thank you thank you thank you")
    assert is_loop("谢谢观看谢谢观看谢谢观看谢谢观看谢谢观看谢谢观看谢谢观看")
    assert not is_loop("yes yes yes")
    assert not is_loop("The river is wide, and the bridge over the river is old and narrow.")


# engines and their models


def test_the_models_of_the_user_come_first(tmp_path: Path) -> None:
    none = Settings(folder=tmp_path)
    both = Settings(folder=tmp_path, whisper_model=tmp_path / "w", sherpa_model=tmp_path / "s")
    sherpa_only = Settings(folder=tmp_path, sherpa_model=tmp_path / "s")
    assert [choose_engine(none, "large").engine, choose_engine(none, "small").engine] == [
        "moonshine", "pocketsphinx",
    ]  # fmt: skip
    assert choose_engine(both, "large") == ("faster-whisper", tmp_path / "w")
    assert choose_engine(both, "small") == ("sherpa-onnx", tmp_path / "s")
    assert choose_engine(sherpa_only, "small").engine == "moonshine"


@pytest.mark.parametrize("language", [None, "en", "en-GB", "eng", "und"])
def test_english_engines_accept_english_and_unknown_languages(language: str | None) -> None:
    assert knows_language("moonshine", language)


def test_another_language_needs_a_model_of_the_user() -> None:
    assert not knows_language("pocketsphinx", "zh-Hans")
    assert knows_language("faster-whisper", "zh-Hans")
    reason = explain_language("moonshine", "zh")
    assert "FAIRLANE_EXTRACT_WHISPER_MODEL" in reason


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (None, "is not a folder"),
        ({}, "has no model.bin, config.json, tokenizer.json"),
        ({"model.bin": b"x", "config.json": b"{}"}, "has no tokenizer.json"),
        ({"model.bin": b"x", "config.json": b"{", "tokenizer.json": b"{}"}, "is not JSON"),
        ({"model.bin": b"x" * 99, "config.json": b"{}", "tokenizer.json": b"{}"}, "not a model"),
    ],
)
def test_a_wrong_folder_for_whisper_is_refused(
    tmp_path: Path, files: dict[str, bytes] | None, problem: str
) -> None:
    with pytest.raises(ChildError, match=problem) as refused:
        whisper.load(folder_with(tmp_path, files), "en")
    assert refused.value.code == "bad_model"
    assert "FAIRLANE_EXTRACT_WHISPER_MODEL" in str(refused.value)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (None, "is not a folder"),
        ({}, "has no tokens.txt"),
        ({"tokens.txt": b"a 0\n"}, "has no .onnx file"),
        ({"tokens.txt": b"a 0\n", "model.onnx": b""}, "has no .onnx file, or an empty one"),
        ({"tokens.txt": b"a 0\n", "model.onnx": b"x"}, "its kind is not known"),
        ({"tokens.txt": b"<|zh|> 0\n", "model.onnx": b"x" * 99}, "not a model"),
    ],
)
def test_a_wrong_folder_for_sherpa_is_refused(
    tmp_path: Path, files: dict[str, bytes] | None, problem: str
) -> None:
    with pytest.raises(ChildError, match=problem) as refused:
        sherpa.load(folder_with(tmp_path, files), "en")
    assert refused.value.code == "bad_model"
    assert "FAIRLANE_EXTRACT_SHERPA_MODEL" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "files", "kind"),
    [
        ("sense", ["model.int8.onnx", "model.onnx"], "sense_voice"),
        ("sherpa-onnx-paraformer-zh-2023-09-14", ["model.int8.onnx"], "paraformer"),
        ("zipformer", ["encoder-1.onnx", "decoder-1.onnx", "joiner-1.onnx"], "transducer"),
        ("sherpa-onnx-whisper-tiny", ["tiny-encoder.onnx", "tiny-decoder.onnx"], "whisper"),
        ("moonshine", ["preprocess.onnx", "encode.int8.onnx", "uncached_decode.int8.onnx",
                       "cached_decode.int8.onnx"], "moonshine"),
    ],
)  # fmt: skip
def test_the_kind_of_a_sherpa_model_is_found(
    tmp_path: Path, name: str, files: list[str], kind: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    tokens = b"<|zh|> 0\n" if kind == "sense_voice" else b"a 0\n"
    folder_with(folder, {"tokens.txt": tokens} | {file: b"x" * len(file) for file in files})
    assert sherpa.find_model(folder).kind == kind
    assert all(Path(path).exists() for path in sherpa.find_model(folder).files.values())


def test_tokens_become_words_with_times() -> None:
    words = sherpa.join_tokens("we crossed it", ["▁we", "▁cro", "ssed", "▁it"], [0, 0.4, 0.6, 1], 2)
    assert [(one.text, one.start) for one in words] == [(" we", 0), (" crossed", 0.4), (" it", 1)]
    assert [one.end for one in words] == [0.3, pytest.approx(0.9), pytest.approx(1.3)]
    assert sherpa.join_tokens("other text", ["▁we"], [0], 2) == ()


def folder_with(folder: Path, files: dict[str, bytes] | None) -> Path:
    for name, content in (files or {}).items():
        (folder / name).write_bytes(content)
    return folder if files is not None else folder / "missing"


# measures


def test_the_rate_of_wrong_words_ignores_case_punctuation_and_digits() -> None:
    assert word_error_rate("We saw two boats.", "we saw 2 boats") == 0
    assert word_error_rate("we saw two boats", "we saw boats") == 0.25
    assert word_error_rate("we saw two boats", "they saw two big boats") == 0.5
    assert word_error_rate("", "noise") == 1
    assert character_accuracy("河很宽", "河 很窄") == pytest.approx(2 / 3)

"""The engine sherpa-onnx, with a model folder of the user, as its project publishes them.

The kind of a model is derived from the files of its folder. The library ends the process at
a model that does not fit, so the files are checked before.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.languages import short_code
from fairlane_extractor.settings import PREFIX
from fairlane_extractor.speech.activity import Cuts
from fairlane_extractor.speech.engine import Engine, Phrase, Word
from fairlane_extractor.speech.sound import RATE, Samples

SENSE_VOICE_LANGUAGES: Final = frozenset({"zh", "en", "ja", "ko", "yue"})
_SPACE: Final = "\u2581"  # begins a word in the tokens of SentencePiece
_TOKEN_SECONDS: Final = 0.3  # of the last token of an utterance


class Model(NamedTuple):
    kind: str  # the name of a method of `OfflineRecognizer`, without `from_`
    files: Mapping[str, str]


class Sherpa:
    cuts: Final = Cuts()

    def __init__(self, recogniser: Any, language: str | None) -> None:
        self._recogniser = recogniser
        self._language = language

    def recognise(self, samples: Samples) -> list[Phrase]:
        stream = self._recogniser.create_stream()
        stream.accept_waveform(RATE, samples.astype(np.float32) / 32768)
        self._recogniser.decode_stream(stream)
        result = stream.result
        text = result.text.strip()
        if not text:
            return []
        # SenseVoice gives the language as "<|zh|>".
        found = short_code((getattr(result, "lang", "") or "").strip("<|>"))
        seconds = len(samples) / RATE
        words = join_tokens(text, result.tokens, result.timestamps, seconds)
        start, end = (words[0].start, words[-1].end) if words else (0.0, seconds)
        return [Phrase(start, end, text, None, self._language or found, words)]


def join_tokens(
    text: str, tokens: list[str], times: list[float], seconds: float
) -> tuple[Word, ...]:
    """Join tokens to words with times; none if they do not spell the text."""
    if not times or len(times) != len(tokens):
        return ()
    words: list[Word] = []
    for token, start, end in zip(tokens, times, [*times[1:], seconds], strict=True):
        piece = token.replace(_SPACE, " ")
        end = min(end, start + _TOKEN_SECONDS)
        begins = piece.startswith(" ") or not piece.isascii() or not words
        if begins:
            words.append(Word(start, end, piece))
        else:
            words[-1] = Word(words[-1].start, end, words[-1].text + piece)
    return tuple(words) if "".join(word.text for word in words).strip() == text else ()


def load(folder: Path | None, language: str | None) -> Engine:
    if folder is None:
        raise bad_model("no folder", "sherpa-onnx has no model of its own")
    model = find_model(folder)
    wanted = short_code(language)
    options: dict[str, Any] = dict(model.files)
    if model.kind == "sense_voice":
        options["use_itn"] = True  # digits and punctuation
        options["language"] = wanted if wanted in SENSE_VOICE_LANGUAGES else ""
    elif model.kind == "whisper":
        options["language"] = wanted or ""  # empty: it is detected
    from sherpa_onnx import OfflineRecognizer

    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    try:
        recogniser = getattr(OfflineRecognizer, f"from_{model.kind}")(
            num_threads=threads, **options
        )
    except (RuntimeError, ValueError) as error:
        if "alloc" in str(error).lower():
            raise MemoryError from error
        raise bad_model(folder, str(error)) from error
    return Sherpa(recogniser, wanted)


def find_model(folder: Path) -> Model:
    """Return the kind and the files of the model in a folder."""
    if not folder.is_dir():
        raise bad_model(folder, "it is not a folder")
    tokens = _find(folder, "*tokens.txt")
    if tokens is None:
        raise bad_model(folder, "it has no tokens.txt")
    names = {"tokens": tokens}
    encoder, decoder = _find(folder, "*encode*.onnx"), _find(folder, "*decode*.onnx")
    joiner, preprocessor = _find(folder, "*joiner*.onnx"), _find(folder, "preprocess*.onnx")
    if encoder and decoder and joiner:
        return Model(
            "transducer", names | {"encoder": encoder, "decoder": decoder, "joiner": joiner}
        )
    if encoder and preprocessor:
        uncached, cached = _find(folder, "uncached*.onnx"), _find(folder, "cached*.onnx")
        if uncached and cached:
            return Model("moonshine", names | {
                "preprocessor": preprocessor, "encoder": encoder,
                "uncached_decoder": uncached, "cached_decoder": cached,
            })  # fmt: skip
    if encoder and decoder:
        return Model("whisper", names | {"encoder": encoder, "decoder": decoder})
    model = _find(folder, "model*.onnx") or _find(folder, "*.onnx")
    if model is None:
        raise bad_model(folder, "it has no .onnx file, or an empty one")
    kind = _kind_of_single(folder, Path(tokens).read_text(errors="replace"))
    return Model(kind, names | {"paraformer" if kind == "paraformer" else "model": model})


def _kind_of_single(folder: Path, tokens: str) -> str:
    """Return the kind of a model in one file, by its tokens or the name of its folder."""
    if "<|zh|>" in tokens:
        return "sense_voice"
    name = folder.resolve().name.lower()
    for part, kind in (
        ("paraformer", "paraformer"),
        ("zipformer", "zipformer_ctc"),
        ("nemo", "nemo_ctc"),
        ("parakeet", "nemo_ctc"),
        ("dolphin", "dolphin_ctc"),
        ("telespeech", "telespeech_ctc"),
        ("wenet", "wenet_ctc"),
    ):
        if part in name:
            return kind
    raise bad_model(
        folder,
        "its kind is not known; keep the name that the project gave the folder, such as "
        "sherpa-onnx-paraformer-zh-2023-09-14",
    )


def _find(folder: Path, pattern: str) -> str | None:
    """Return a file that is not empty; the smaller, quantized one if there are two."""
    found = [path for path in folder.glob(pattern) if path.is_file() and path.stat().st_size]
    return str(min(found, key=lambda path: (path.stat().st_size, path.name))) if found else None


def bad_model(folder: Path | str, problem: str) -> ChildError:
    return ChildError(
        "bad_model",
        f"{folder} is not a model for sherpa-onnx: {problem}; expected a folder with tokens.txt "
        "and .onnx files, as the sherpa-onnx project publishes them (SenseVoice, Paraformer, "
        f"Zipformer, Whisper, …); name it in {PREFIX}SHERPA_MODEL, or leave that empty",
    )

"""The engine faster-whisper, with a model folder of the user: many languages, and detects them.

Whisper reads windows of 30 seconds, and a short one costs as much: its utterances are long.
"""

import json
import math
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.languages import short_code
from fairlane_extractor.settings import PREFIX
from fairlane_extractor.speech.activity import Cuts
from fairlane_extractor.speech.engine import Engine, Phrase, Word
from fairlane_extractor.speech.sound import Samples

# Without a tokenizer in the folder, faster-whisper would download one.
NEEDED: Final = ("model.bin", "config.json", "tokenizer.json")
NO_SPEECH: Final = 0.6  # the probability above which a doubtful text is dropped,
DOUBTFUL: Final = -1.0  # and its mean logarithm below which it is doubtful


class Whisper:
    cuts: Final = Cuts(
        longest_seconds=28.0, long_seconds=20.0, pause_seconds=2.0, short_pause_seconds=0.4
    )

    def __init__(self, model: Any, language: str | None) -> None:
        self._model = model
        self._language = language

    def recognise(self, samples: Samples) -> list[Phrase]:
        segments, info = self._model.transcribe(
            samples.astype(np.float32) / 32768,
            language=self._language,
            condition_on_previous_text=False,
            word_timestamps=True,
        )
        return [
            Phrase(
                one.start, one.end, one.text.strip(), min(1.0, math.exp(one.avg_logprob)),
                self._language or short_code(info.language),
                tuple(Word(word.start, word.end, word.word, word.probability)
                      for word in one.words or ()),
            )
            for one in segments
            if not (one.no_speech_prob > NO_SPEECH and one.avg_logprob < DOUBTFUL)
        ]  # fmt: skip


def load(folder: Path | None, language: str | None) -> Engine:
    if folder is None:
        raise bad_model("no folder", "faster-whisper has no model of its own")
    check_folder(folder)
    from faster_whisper import WhisperModel

    try:
        model = WhisperModel(
            str(folder), device="cpu", compute_type="int8", local_files_only=True,
            cpu_threads=int(os.environ.get("OMP_NUM_THREADS", "1")),
        )  # fmt: skip
    except (RuntimeError, ValueError) as error:
        if "alloc" in str(error).lower():
            raise MemoryError from error
        raise bad_model(folder, str(error)) from error
    wanted = short_code(language)
    if wanted is not None and wanted not in model.supported_languages:
        known = ", ".join(sorted(model.supported_languages)[:5])
        raise ChildError(
            "language_without_model",
            f'the model {folder} does not know the language "{wanted}" (it knows {known}…); '
            f"name another one in {PREFIX}WHISPER_MODEL",
        )
    return Whisper(model, wanted)


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be a model."""
    if not folder.is_dir():
        raise bad_model(folder, "it is not a folder")
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        raise bad_model(folder, f"it has no {', '.join(missing)}")
    for name in ("config.json", "tokenizer.json"):
        try:
            json.loads((folder / name).read_bytes())
        except ValueError as error:
            raise bad_model(folder, f"its {name} is not JSON") from error


def bad_model(folder: Path | str, problem: str) -> ChildError:
    return ChildError(
        "bad_model",
        f"{folder} is not a model for faster-whisper: {problem}; expected a folder with "
        f"{', '.join(NEEDED)} (a model converted for CTranslate2); name it in "
        f"{PREFIX}WHISPER_MODEL, or leave that empty",
    )

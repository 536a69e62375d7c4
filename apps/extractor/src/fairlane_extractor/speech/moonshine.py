"""The engine moonshine: a neural model for English, the tiny one that its package ships.

It has an activity detector of its own, which also ignores music. It has no confidence, and no times
of words: the model that would give them is not in the package.
"""

import re
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairlane_extractor.speech.activity import Cuts
from fairlane_extractor.speech.engine import Engine, Phrase
from fairlane_extractor.speech.sound import RATE, Samples

OPTIONS: Final = {"return_audio_data": "false", "vad_threshold": "0.2"}
PAD_SECONDS: Final = 0.6  # of silence around an utterance; without it, more words are wrong
SHORTEST_SECONDS: Final = 0.2  # the model invents a word for a shorter sound


class Moonshine:
    cuts: Final = Cuts()

    def __init__(self, transcriber: Any) -> None:
        self._transcriber = transcriber

    def recognise(self, samples: Samples) -> list[Phrase]:
        seconds = len(samples) / RATE
        sound = np.pad(samples.astype(np.float32) / 32768, round(PAD_SECONDS * RATE)).tolist()
        transcript = self._transcriber.transcribe_without_streaming(sound, RATE)
        phrases: list[Phrase] = []
        for line in transcript.lines:
            if line.duration < SHORTEST_SECONDS:
                continue
            # Its detector lets lines begin a little before their speech, in the line before.
            begin = line.start_time - PAD_SECONDS
            start = max(begin, phrases[-1].end if phrases else 0.0)
            end = max(start, min(begin + line.duration, seconds))
            phrases.append(Phrase(start, end, tidy_text(line.text), None, "en"))
        return phrases


def tidy_text(text: str) -> str:
    """Remove the repeated commas that the model writes."""
    return re.sub(r"(?:\s*,){2,}", ",", text).strip()


def load(folder: Path | None, language: str | None) -> Engine:  # noqa: ARG001 - the contract
    from moonshine_voice import ModelArch, Transcriber, get_model_path

    path = folder or get_model_path("tiny-en")
    return Moonshine(Transcriber(path, ModelArch.TINY, options=OPTIONS))

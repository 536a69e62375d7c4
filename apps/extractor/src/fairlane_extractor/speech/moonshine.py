"""The engine moonshine: a neural model for English, the tiny one that its package ships.

It has an activity detector of its own, which also ignores music. Lines of that detector begin half
a second early, in the line before, and end after ten seconds, inside a word: the detector only says
where speech is, and each part is read once. There is no confidence, and there are no times of
words: the model that would give them is not in the package.
"""

import re
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairlane_extractor.speech.activity import Cuts
from fairlane_extractor.speech.engine import Engine, Phrase
from fairlane_extractor.speech.sound import RATE, Samples

# The detector ends a line from two thirds of its longest time on; utterances are shorter than that.
OPTIONS: Final = {"return_audio_data": "false", "vad_max_segment_duration": "60"}
DETECTOR: Final = {**OPTIONS, "skip_transcription": "true", "vad_threshold": "0.2"}
READER: Final = {**OPTIONS, "vad_threshold": "0"}  # all that it is given is one line
PAD_SECONDS: Final = 0.6  # of silence around an utterance; without it, more words are wrong
SHORTEST_SECONDS: Final = 0.2  # the model invents a word for a shorter sound
INVENTED: Final = "You"  # what it reads in noise and silence


class Moonshine:
    cuts: Final = Cuts()

    def __init__(self, detector: Any, reader: Any) -> None:
        self._detector = detector
        self._reader = reader

    def recognise(self, samples: Samples) -> list[Phrase]:
        phrases = []
        for begin, end in self._find_speech(samples):
            transcript = self._reader.transcribe_without_streaming(
                _padded(samples[begin:end]), RATE
            )
            text = tidy_text(" ".join(line.text for line in transcript.lines))
            if text != INVENTED:
                phrases.append(Phrase(begin / RATE, end / RATE, text, None, "en"))
        return phrases

    def _find_speech(self, samples: Samples) -> list[tuple[int, int]]:
        """Return the parts with speech, as places of samples; lines that overlap are one part."""
        transcript = self._detector.transcribe_without_streaming(_padded(samples), RATE)
        parts: list[tuple[int, int]] = []
        for line in transcript.lines:
            if line.duration < SHORTEST_SECONDS:
                continue
            seconds = line.start_time - PAD_SECONDS
            begin = max(0, round(seconds * RATE))
            end = min(round((seconds + line.duration) * RATE), len(samples))
            if parts and begin <= parts[-1][1]:
                begin, last = parts.pop()
                end = max(end, last)
            if begin < end:
                parts.append((begin, end))
        return parts


def _padded(samples: Samples) -> list[float]:
    sound: list[float] = np.pad(
        samples.astype(np.float32) / 32768, round(PAD_SECONDS * RATE)
    ).tolist()
    return sound


def tidy_text(text: str) -> str:
    """Remove the repeated commas that the model writes."""
    return re.sub(r"(?:\s*,){2,}", ",", text).strip()


def load(folder: Path | None, language: str | None) -> Engine:  # noqa: ARG001 - the contract
    from moonshine_voice import ModelArch, Transcriber, get_model_path

    path = folder or get_model_path("tiny-en")
    return Moonshine(
        Transcriber("", ModelArch.TINY, options=DETECTOR),  # this one needs no model
        Transcriber(path, ModelArch.TINY, options=READER),
    )

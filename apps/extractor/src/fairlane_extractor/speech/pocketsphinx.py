"""The engine pocketsphinx: small, for English, without punctuation; it has times of words."""

from pathlib import Path
from typing import Final

import pocketsphinx

from fairlane_extractor.speech.activity import Cuts
from fairlane_extractor.speech.engine import Engine, Phrase, Word
from fairlane_extractor.speech.sound import RATE, Samples

FRAMES_PER_SECOND: Final = 100
LOWEST_CONFIDENCE: Final = 0.3  # below it are the words that it invents for music and noise
_NO_WORDS: Final = ("<", "[", "(", "+")  # the begins of names of pauses and noises


class Pocketsphinx:
    cuts: Final = Cuts()

    def __init__(self, decoder: pocketsphinx.Decoder) -> None:
        self._decoder = decoder

    def recognise(self, samples: Samples) -> list[Phrase]:
        decoder = self._decoder
        decoder.start_utt()
        decoder.process_raw(samples.tobytes(), full_utt=True)
        decoder.end_utt()
        words = [
            Word(
                one.start_frame / FRAMES_PER_SECOND, (one.end_frame + 1) / FRAMES_PER_SECOND,
                " " + one.word.partition("(")[0], min(1.0, one.prob),
            )
            for one in decoder.seg() or ()
            if not one.word.startswith(_NO_WORDS)
        ]  # fmt: skip
        if not words:
            return []
        text = "".join(word.text for word in words).strip()
        known = [word.confidence for word in words if word.confidence is not None]
        confidence = sum(known) / len(known)
        if confidence < LOWEST_CONFIDENCE:
            return []
        return [Phrase(words[0].start, words[-1].end, text, confidence, "en", tuple(words))]


def load(folder: Path | None, language: str | None) -> Engine:  # noqa: ARG001 - the contract
    return Pocketsphinx(pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL"))

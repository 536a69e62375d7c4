"""Voice activity: the sound is cut into utterances, at pauses if there are any.

Each frame of 30 ms is judged by the detector of WebRTC that pocketsphinx contains. A pause ends an
utterance; the longer the utterance is already, the shorter the pause may be. The detector does not
see the pauses of 0.1 s of fluent speech: at the bound, the levels show the longest of them.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from pocketsphinx import Vad

from fairlane_extractor.speech.sound import RATE, Block, Samples

FRAME: Final = RATE * 30 // 1000
FRAME_SECONDS: Final = FRAME / RATE
QUIET: Final = 32  # the peak of a frame that is silence: -60 dB
STRICTNESS: Final = 2  # of the detector, from 0 to 3
WINDOW: Final = 10  # frames before an utterance that belong to it,
ENOUGH: Final = 5  # and how many of them must be speech
TAIL: Final = 7  # frames of a pause that belong to the utterance before it
STEP: Final = RATE // 100  # samples of which the level is measured
SHORTEST_PAUSE: Final = 6  # steps; a consonant can be as silent, but shorter
PAUSE_LEVEL: Final = 0.03  # of the loud parts: -30 dB


class Cuts(NamedTuple):
    """How long utterances may be, and which pauses end them."""

    longest_seconds: float = 15.0
    long_seconds: float = 6.0  # from here on, a short pause is enough
    pause_seconds: float = 0.6
    short_pause_seconds: float = 0.24


class Utterance(NamedTuple):
    start: float  # seconds from the begin of the media
    samples: Samples


class UtteranceFinder:
    """Finds the utterances in the blocks of a sound."""

    def __init__(self, cuts: Cuts = Cuts()) -> None:
        self.position = 0.0  # seconds of the media that have been added
        self.is_silent = True  # no frame was louder than silence
        self._cuts = cuts
        self._vad = Vad(mode=STRICTNESS, sample_rate=RATE, frame_length=FRAME_SECONDS)
        self._before: deque[tuple[Samples, bool]] = deque(maxlen=WINDOW)
        self._frames: list[tuple[Samples, bool]] = []  # of the utterance at hand
        self._start = 0.0
        self._pause = 0  # frames since the last one with speech
        self._rest: Samples = np.zeros(0, np.int16)

    def add(self, block: Block) -> Iterator[Utterance]:
        """Add the next block; give the utterances that end in it."""
        rest_seconds = len(self._rest) / RATE
        if block.start - rest_seconds - self.position > FRAME_SECONDS:
            yield from self.finish()
            self._rest = np.zeros(0, np.int16)
            self.position = block.start
        samples = np.concatenate([self._rest, block.samples])
        whole = len(samples) // FRAME * FRAME
        frames, self._rest = samples[:whole].reshape(-1, FRAME), samples[whole:]
        peaks = np.abs(frames.astype(np.int32)).max(axis=1, initial=0)
        if not self._frames and len(frames) and peaks.max() < QUIET:
            self._skip_silence(frames)
            return
        for frame, peak in zip(frames, peaks, strict=True):
            yield from self._add_frame(frame, bool(peak >= QUIET))

    def finish(self) -> Iterator[Utterance]:
        """Give the utterance that the end of the sound, or a gap in it, ends."""
        if self._frames:
            yield from self._end_at(len(self._frames))
        self._frames = []
        self._before.clear()

    def _skip_silence(self, frames: Samples) -> None:
        self.position += len(frames) * FRAME_SECONDS
        self._before.extend((frame, False) for frame in frames[-WINDOW:])

    def _add_frame(self, frame: Samples, is_loud: bool) -> Iterator[Utterance]:
        self.position += FRAME_SECONDS
        self.is_silent = self.is_silent and not is_loud
        has_speech = is_loud and self._vad.is_speech(frame.tobytes())
        if not self._frames:
            self._before.append((frame, has_speech))
            if sum(flag for _, flag in self._before) >= ENOUGH:
                self._frames = list(self._before)
                self._start = self.position - len(self._frames) * FRAME_SECONDS
                self._pause = 0
                self._before.clear()
            return
        self._frames.append((frame, has_speech))
        self._pause = 0 if has_speech else self._pause + 1
        seconds = len(self._frames) * FRAME_SECONDS
        if self._pause * FRAME_SECONDS >= self._pause_needed(seconds):
            kept = len(self._frames) - max(0, self._pause - TAIL)
            yield from self._end_at(kept)
            self._before.extend((one, False) for one, _ in self._frames)
            self._frames = []
        elif seconds >= self._cuts.longest_seconds:
            yield from self._end_at(round(find_cut(_joined(self._frames)) / FRAME))
            self._pause = min(self._pause, len(self._frames))

    def _pause_needed(self, seconds: float) -> float:
        is_long = seconds >= self._cuts.long_seconds
        return self._cuts.short_pause_seconds if is_long else self._cuts.pause_seconds

    def _end_at(self, count: int) -> Iterator[Utterance]:
        """End the utterance at hand after that many frames; the others begin the next one."""
        begin, self._start = self._start, self._start + count * FRAME_SECONDS
        ended, self._frames = self._frames[:count], self._frames[count:]
        # The rest after a cut may be a pause, for which an engine would invent words.
        if sum(has_speech for _, has_speech in ended) >= ENOUGH:
            yield Utterance(max(0.0, begin), _joined(ended))


def find_cut(samples: Samples) -> int:
    """Return the sample where speech is best cut: in its longest pause, or quietest moment."""
    steps = samples[: len(samples) // STEP * STEP].reshape(-1, STEP)
    levels = np.sqrt(np.square(steps, dtype=np.float64).mean(axis=1))
    first = len(levels) // 3  # an earlier cut would make two where one is enough
    lowest, highest = np.percentile(levels, (5, 95))
    is_pause = levels[first:] < max(highest * PAUSE_LEVEL, lowest * 2)
    edges = np.flatnonzero(np.diff(is_pause, prepend=False, append=False)).reshape(-1, 2)
    lengths = edges[:, 1] - edges[:, 0]
    if lengths.max(initial=0) >= SHORTEST_PAUSE:
        # Of equal ones, the last.
        begin, end = edges[len(lengths) - 1 - lengths[::-1].argmax()]
        return (first + int(begin + end) // 2) * STEP
    late = len(levels) * 2 // 3
    smooth = np.convolve(np.square(levels), np.ones(SHORTEST_PAUSE), mode="same")
    return (late + int(smooth[late:-SHORTEST_PAUSE].argmin())) * STEP


def _joined(frames: Sequence[tuple[Samples, bool]]) -> Samples:
    return np.concatenate([samples for samples, _ in frames])

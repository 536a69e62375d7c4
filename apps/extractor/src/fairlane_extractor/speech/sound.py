"""The sound of a media, decoded in blocks of a second: 16,000 samples a second, one channel.

The file is untrusted. Only the block at hand is in memory, however long the sound is; a gap in it
is a block that starts later, so that a false time cannot fill the memory with silence.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import av
import numpy as np
import numpy.typing as npt
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import EOFError as AvEnd
from av.error import FFmpegError
from av.stream import Discard

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.languages import short_code
from fairlane_extractor.sources.containers import open_media

RATE: Final = 16_000
GAP_SECONDS: Final = 0.5  # below it, times of frames are only imprecise
MOST_BROKEN: Final = 1000  # packets that cannot be decoded

Samples = npt.NDArray[np.int16]


class Block(NamedTuple):
    start: float  # seconds from the begin of the media
    samples: Samples


class Sound:
    """The chosen stream of sound of an open file."""

    def __init__(
        self, container: InputContainer, stream: AudioStream, longest_seconds: float
    ) -> None:
        self.language = short_code(stream.language)
        self.seconds = container.duration / av.time_base if container.duration else None
        self._container = container
        self._stream = stream
        self._longest_seconds = longest_seconds
        self._offset = (container.start_time or 0) / av.time_base

    def blocks(self) -> Iterator[Block]:
        """Decode the sound; broken packets are left out, but not if all are broken."""
        pieces = _Pieces()
        resampler: AudioResampler | None = None
        known: tuple[str, str, int] | None = None
        for frame in self._frames():
            shape = (frame.format.name, frame.layout.name, frame.sample_rate)
            start = self._start_of(frame)
            smallest = 0.0 if known is None else GAP_SECONDS
            has_gap = start is not None and (
                smallest < start - pieces.clock and start < self._longest_seconds
            )
            if shape != known or has_gap:
                # The resampler accepts one kind of frame, and holds samples back.
                yield from pieces.take(_resample(resampler, None))
                yield from pieces.rest()
                resampler, known = AudioResampler("s16", "mono", RATE), shape
            if has_gap and start is not None:
                pieces.clock = start
            yield from pieces.take(_resample(resampler, frame))
            if pieces.clock > self._longest_seconds:
                raise ChildError(
                    "too_long",
                    f"the sound is longer than {self._longest_seconds:,.0f} s, the longest allowed",
                )
        yield from pieces.take(_resample(resampler, None))
        yield from pieces.rest()

    def _frames(self) -> Iterator[AudioFrame]:
        decoded = broken = 0
        packets = self._container.demux(self._stream)
        while broken < MOST_BROKEN:
            try:
                packet = next(packets)
                frames = packet.decode()
            except (StopIteration, AvEnd):
                break
            except FFmpegError:
                broken += 1
                continue
            decoded += len(frames)
            yield from frames
        if broken and not decoded:
            raise ChildError("corrupt_media", "the sound of the media cannot be decoded")

    def _start_of(self, frame: AudioFrame) -> float | None:
        return None if frame.time is None else frame.time - self._offset


class _Pieces:
    """Joins small pieces to blocks of a second."""

    def __init__(self) -> None:
        self.clock = 0.0  # the end of all pieces so far
        self._pieces: list[Samples] = []
        self._count = 0

    def take(self, pieces: list[Samples]) -> Iterator[Block]:
        for piece in pieces:
            self._pieces.append(piece)
            self._count += len(piece)
            self.clock += len(piece) / RATE
            if self._count >= RATE:
                yield from self.rest()

    def rest(self) -> Iterator[Block]:
        if self._count:
            samples = np.concatenate(self._pieces)
            self._pieces, self._count = [], 0
            yield Block(self.clock - len(samples) / RATE, samples)


@contextmanager
def open_sound(
    path: str, *, language: str | None = None, longest_seconds: float = 86_400.0
) -> Iterator[Sound | None]:
    """Open the sound of a file, in a language if there are several; None if it has none."""
    try:
        container = open_media(path)
    except FFmpegError as error:
        raise ChildError("corrupt_media", f"the media cannot be opened: {error}"[:300]) from error
    with container:
        stream = _choose_stream(container, language)
        if stream is None:
            yield None
            return
        for other in container.streams:
            if other.index != stream.index:
                other.discard = Discard.all
        yield Sound(container, stream, longest_seconds)


def _choose_stream(container: InputContainer, language: str | None) -> AudioStream | None:
    wanted = short_code(language)
    # A stream of a codec that this FFmpeg does not know has no context.
    streams = [one for one in container.streams.audio if getattr(one, "codec_context", None)]
    for stream in streams:
        if wanted is not None and short_code(stream.language) == wanted:
            return stream
    best = container.streams.best("audio")
    return next((one for one in streams if best and one.index == best.index), None) or (
        streams[0] if streams else None
    )


def _resample(resampler: AudioResampler | None, frame: AudioFrame | None) -> list[Samples]:
    if resampler is None:
        return []
    frames = resampler.resample(frame)
    return [one.to_ndarray().reshape(-1).astype(np.int16, copy=False) for one in frames]

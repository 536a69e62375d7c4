"""Take about two frames a second from a video, and find those on which the picture changed.

A caption changes without a change of the scene, in a small part of the picture. So frames are
compared in blocks, each with the same block of the last frame that had changed: a slow fade adds up
until it counts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from msgspec import Struct

from fairlane_extractor.sources.containers import open_media

Picture = npt.NDArray[np.uint8]

SAMPLE_SECONDS: Final = 0.5
FAST: Final = 15  # frames a second
COMPARED_SIDE: Final = 480  # pixels of the longer side when frames are compared
BLOCK: Final = 8
CHANGED: Final = 9.0  # mean difference of a block, of 255; noise of an encoder is below 4
READ_SIDES: Final = (960, 1280)  # pixels of the longer side when text is read
START_UNITS: Final = 1_000_000  # of the begin of a container


class Sample(Struct, frozen=True):
    """One frame; without a picture it equals the one before it."""

    since: float  # a change may have happened from this time on
    time: float
    picture: Picture | None  # blue, green, red


class UnreadableFrames(Exception):
    """No frame of the video can be decoded."""


class FrameSampler:
    """The samples of one video, in the order of time."""

    def __init__(self, path: Path, threads: int) -> None:
        self.end = 0.0  # of the last frame
        self.damaged = 0  # packets that could not be decoded
        self.sampled = 0
        self._path = path
        self._threads = threads
        self._compared: Picture | None = None

    def samples(self) -> Iterator[Sample]:
        """Yield the samples; a media without a video stream has none."""
        try:
            # A few encoders mark all frames as not needed by others; then all are decoded.
            for skips in (True, False):
                with open_media(self._path) as media:
                    stream = _video_of(media)
                    if stream is None:
                        return
                    yield from self._samples(media, stream, skips=skips)
                if self.sampled:
                    return
            raise UnreadableFrames("no frame of the video can be decoded")
        except MemoryError:
            raise
        except (av.FFmpegError, OSError) as error:
            raise UnreadableFrames(error.strerror or str(error)) from error

    def _samples(
        self, media: InputContainer, stream: VideoStream, *, skips: bool
    ) -> Iterator[Sample]:
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = self._threads
        offset = (media.start_time or 0) / START_UNITS
        rate = float(stream.average_rate or 25)
        if skips and rate > FAST:
            # Frames that no other frame depends on are not needed for two samples a second.
            stream.codec_context.skip_frame = "NONREF"
        due, decoded = 0.0, 0
        since: float | None = 0.0
        for frame in self._frames(media, stream):
            time = decoded / rate if frame.pts is None else max(0.0, frame.time - offset)
            decoded += 1
            since = time if since is None else since
            self.end = max(self.end, time + 1 / rate)
            if time < due:
                continue
            yield Sample(since, time, self._changed_picture(frame))
            self.sampled += 1
            due, since = (time // SAMPLE_SECONDS + 1) * SAMPLE_SECONDS, None

    def _frames(self, media: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
        packets = media.demux(stream)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    return
                frames = packet.decode()
            except av.InvalidDataError:
                self.damaged += 1
                continue
            yield from frames

    def _changed_picture(self, frame: VideoFrame) -> Picture | None:
        grey = _scaled(frame, COMPARED_SIDE, COMPARED_SIDE, "gray")
        if self._compared is not None and not has_changed(self._compared, grey, CHANGED):
            return None
        self._compared = grey
        picture = _scaled(frame, *READ_SIDES, "bgr24")
        return np.ascontiguousarray(np.rot90(picture, frame.rotation // 90))


def has_changed(before: Picture, after: Picture, bound: float) -> bool:
    """Return whether any block of two grey pictures differs by more than a bound."""
    if before.shape != after.shape:
        return True
    difference = np.abs(before.astype(np.int16) - after.astype(np.int16)).astype(np.float32)
    rows = np.add.reduceat(difference, np.arange(0, difference.shape[0], BLOCK), axis=0)
    sums = np.add.reduceat(rows, np.arange(0, difference.shape[1], BLOCK), axis=1)
    return bool(sums.max() > bound * BLOCK * BLOCK)


def _video_of(media: InputContainer) -> VideoStream | None:
    """Return the first video that is not the cover of a piece of music."""
    for stream in media.streams.video:
        if Disposition.attached_pic not in stream.disposition:
            return stream
    return None


def _scaled(frame: VideoFrame, shortest: int, longest: int, format_: str) -> Picture:
    side = max(frame.width, frame.height)
    scale = min(max(side, shortest), longest) / side
    width, height = (max(BLOCK, round(pixels * scale)) for pixels in (frame.width, frame.height))
    kind = "AREA" if scale < 1 else "BICUBIC"
    scaled = frame.reformat(width, height, format_, interpolation=kind)
    return scaled.to_ndarray().astype(np.uint8, copy=False)

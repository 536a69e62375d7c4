"""Read the streams of a media file in a child process: a damaged file can crash a decoder."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import av
import msgspec
from av.container import InputContainer
from av.error import FFmpegError
from av.stream import Disposition, Stream

from fairlane_extractor.child_side import ChildError, Send, serve
from fairlane_extractor.media import LocalMedia, Track
from fairlane_extractor.sources.containers import has_signature, open_media
from fairlane_extractor.sources.media_bounds import too_long
from fairlane_extractor.sources.side_files import side_tracks

HEAD_BYTES: Final = 1024
TRIED_PACKETS: Final = 2_000  # before a file without a single frame is called corrupt
MOST_TRACKS: Final = 32


def work(request: Mapping[str, Any], send: Send) -> Any:  # noqa: ARG001 - it is quick
    media = read_media(Path(request["path"]), request["longest_seconds"])
    return msgspec.to_builtins(media)


def read_media(path: Path, longest_seconds: float) -> LocalMedia:
    """Return the streams of a file; raise unless a player could play it."""
    size = path.stat().st_size
    try:
        with open_media(path) as container:
            pictures, sounds = _pictures(container), list(container.streams.audio)
            if not pictures and not sounds:
                raise ChildError(
                    "not_a_media_file", f"{_name(path)} has neither a picture nor sound"
                )
            _decode_one([*pictures, *sounds], container, path)
            seconds = _seconds(container)
            tracks = [_embedded(stream) for stream in container.streams.subtitles[:MOST_TRACKS]]
            width, height = _size(pictures)
        if seconds is None:
            seconds = _scanned_seconds(path, longest_seconds)
    except (FFmpegError, EOFError) as error:
        raise _unreadable(path, error) from error
    if seconds is not None and seconds > longest_seconds:
        raise too_long(seconds, longest_seconds)
    return LocalMedia(
        path=str(path), bytes=size, seconds=seconds,
        has_video=bool(pictures), has_audio=bool(sounds), width=width, height=height,
        tracks=(*tracks, *side_tracks(path)),
    )  # fmt: skip


def _pictures(container: InputContainer) -> list[Stream]:
    """Return the streams of video, without covers of albums."""
    return [
        stream
        for stream in container.streams.video
        if not stream.disposition & Disposition.attached_pic
    ]


def _size(pictures: list[Stream]) -> tuple[int, int]:
    context = pictures[0].codec_context if pictures else None
    return (int(context.width), int(context.height)) if context is not None else (0, 0)  # type: ignore[attr-defined]


def _decode_one(streams: list[Stream], container: InputContainer, path: Path) -> None:
    """Decode until the first frame: a header alone does not prove that there is media."""
    trouble: Exception | None = None
    for packet in islice(container.demux(streams), TRIED_PACKETS):
        try:
            if packet.decode():
                return
        except FFmpegError as error:
            trouble = error  # a file that was cut begins with frames that lack their reference
    raise _unreadable(path, trouble or EOFError("it has no frames"))


def _seconds(container: InputContainer) -> float | None:
    if container.duration:
        return max(0.0, container.duration / av.time_base)
    known = [
        float(stream.duration * stream.time_base)
        for stream in container.streams
        if stream.duration and stream.time_base
    ]
    return max(known, default=None)


def _scanned_seconds(path: Path, longest_seconds: float) -> float | None:
    """Return the end of the last packet: a recording of a browser has no duration in its head."""
    end = 0.0
    with open_media(path) as container:
        for packet in container.demux():
            if packet.pts is not None:
                end = max(end, float((packet.pts + (packet.duration or 0)) * packet.time_base))
            if end > longest_seconds:
                break
    return end or None


def _embedded(stream: Stream) -> Track:
    language = stream.metadata.get("language")
    return Track(
        language=None if language in (None, "und") else language,
        name=stream.metadata.get("title"),
        stream=stream.index,
        format=getattr(stream.codec_context, "name", None),
    )


def _unreadable(path: Path, error: Exception) -> ChildError:
    with path.open("rb") as file:
        is_media = has_signature(file.read(HEAD_BYTES))
    if not is_media:
        return ChildError(
            "not_a_media_file", f"{_name(path)} is not a media file; a video or sound is expected"
        )
    reason = getattr(error, "strerror", None) or str(error)
    return ChildError(
        "corrupt_media", f"{_name(path)} is damaged or incomplete: {reason}; get it again"
    )


def _name(path: Path) -> str:
    """Return the name of a file on one line."""
    return ascii(path.name) if not path.name.isprintable() else f'"{path.name}"'


if __name__ == "__main__":
    serve(work)

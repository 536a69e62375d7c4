"""Generated clips: spoken sentences, burned-in captions, subtitle tracks, and files beside them.

    path = make_clip(
        folder / "walk.mp4",
        speech=[(0.5, "The river is wide."), (4, "We crossed the bridge.")],
        captions=[(0.5, 3, "The river is wide."), (0, 8, "@river", "corner")],
        tracks=[("en", [(0.5, 3, "The river is wide.")])],
        files={".zh.srt": [(0.5, 3, "这条河很宽。")]},
    )

`shared_clip(".mp4", …)` is the same for tests that only read the clip: it is made once a process.
"""

import atexit
import functools
import shutil
import subprocess
import tempfile
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

import av
import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
from av.audio.stream import AudioStream
from PIL import Image, ImageDraw, ImageFont

RATE: Final = 16_000  # samples a second
SOUND_ONLY: Final = frozenset({".wav", ".mp3", ".m4a", ".flac", ".ogg", ".opus"})
LATIN_FONTS: Final = ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",)
CHINESE_FONTS: Final = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "/System/Library/Fonts/PingFang.ttc",
)
THREE_LETTERS: Final = {"en": "eng", "zh": "chi", "de": "ger", "fr": "fre", "ja": "jpn"}

Speech = str | Sequence[tuple[float, str]]  # a text, or texts with the times of their begin
Cue = tuple[float, float, str]
Place = Literal["bottom", "top", "middle", "corner"]
Caption = Cue | tuple[float, float, str, Place]
Sound = Literal["speech", "silence", "music", "none"]
Background = Literal["plain", "scenes", "moving"]
Samples = npt.NDArray[np.int16]


def make_clip(
    path: Path,
    *,
    speech: Speech = (),
    voice: str = "slt",
    captions: Sequence[Caption] = (),
    tracks: Sequence[tuple[str, Sequence[Cue]]] = (),
    files: Mapping[str, Sequence[Cue]] | None = None,
    seconds: float | None = None,
    sound: Sound | None = None,
    size: tuple[int, int] = (640, 360),
    frames_per_second: int = 10,
    background: Background = "plain",
    text_size: int = 28,
    rotation: int = 0,
) -> Path:
    """Create a clip, or a file of sound only if its suffix is one of sound.

    Each of `files` lies beside the clip: `{".en.srt": cues}` of `walk.mp4` is `walk.en.srt`.
    Without `seconds` the clip ends half a second after the last sentence, caption and cue.
    """
    samples = _spoken(speech, voice)
    ends = [caption[1] for caption in captions] + [cue[1] for _, cues in tracks for cue in cues]
    seconds = seconds or max([len(samples) / RATE, *ends, 1.5]) + 0.5
    kind = sound or ("speech" if len(samples) else "silence")
    heard = None if kind == "none" else _sound(kind, samples, seconds)
    raw = path.with_name(f"raw-{path.name}") if tracks else path
    if path.suffix in SOUND_ONLY:
        _write(raw, heard)
    else:
        pictures = _Pictures(captions, size, background, text_size)
        _write(raw, heard, pictures, int(seconds * frames_per_second), frames_per_second, rotation)
    if tracks:
        _add_tracks(raw, path, tracks)
        raw.unlink()
    for suffix, cues in (files or {}).items():
        cues_file(path.with_suffix(suffix), cues)
    return path


@functools.cache
def _shelf() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="extractor-clips-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_SHARED: dict[str, Path] = {}


def shared_clip(suffix: str = ".mp4", **facts: Any) -> Path:
    """Create a clip once in this process; tests must not change it."""
    key = repr((suffix, sorted(facts.items())))
    if key not in _SHARED:
        folder = _shelf() / str(len(_SHARED))
        folder.mkdir()
        _SHARED[key] = make_clip(folder / f"clip{suffix}", **facts)
    return _SHARED[key]


def copied_clip(path: Path, **facts: Any) -> Path:
    """Copy the shared clip to a path, for tests that need a file of their own name."""
    return Path(shutil.copyfile(shared_clip(path.suffix, **facts), path))


def chinese_font() -> Path | None:
    """Return a font with Chinese characters; without one, tests of Chinese frames are skipped."""
    return next((Path(name) for name in CHINESE_FONTS if Path(name).exists()), None)


# subtitles


def cues_file(path: Path, cues: Sequence[Cue], *, encoding: str = "utf-8") -> Path:
    """Create a subtitle file; its suffix decides the format: `.srt`, `.vtt` or `.ass`."""
    path.write_bytes(cues_text(path.suffix, cues).encode(encoding))
    return path


def cues_text(suffix: str, cues: Sequence[Cue]) -> str:
    if suffix == ".ass":
        return _ass(cues)
    mark = "." if suffix == ".vtt" else ","
    blocks = [
        f"{number}\n{_clock(start, mark)} --> {_clock(end, mark)}\n{text}\n"
        for number, (start, end, text) in enumerate(cues, start=1)
    ]
    return "\n".join(["WEBVTT\n", *blocks] if suffix == ".vtt" else blocks)


def _clock(seconds: float, mark: str) -> str:
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{mark}{thousandths:03}"


def _ass(cues: Sequence[Cue]) -> str:
    head = (
        "[Script Info]\nScriptType: v4.00+\n\n[V4+ Styles]\n"
        "Format: Name, Fontname, Fontsize, PrimaryColour\nStyle: Default,Arial,20,&H00FFFFFF\n\n"
        "[Events]\n"
        "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    )
    lines = [
        f"Dialogue: 0,{_clock(start, '.')[1:-1]},{_clock(end, '.')[1:-1]},Default,,0,0,0,,{text}"
        for start, end, text in cues
    ]
    return head + "\n".join(lines) + "\n"


def _add_tracks(raw: Path, path: Path, tracks: Sequence[tuple[str, Sequence[Cue]]]) -> None:
    argv = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-i", f"file:{raw}"]
    argv_out = ["-map", "0"]
    cue_files = []
    for number, (language, cues) in enumerate(tracks):
        cue_files.append(cues_file(path.with_name(f"raw-{number}.srt"), cues))
        argv += ["-i", f"file:{cue_files[-1]}"]
        name = THREE_LETTERS.get(language, language)
        argv_out += ["-map", str(number + 1), f"-metadata:s:s:{number}", f"language={name}"]
    codec = "mov_text" if path.suffix in (".mp4", ".m4v", ".mov") else "srt"
    argv_out += ["-c:v", "copy", "-c:a", "copy", "-c:s", codec, f"file:{path}"]
    subprocess.run([*argv, *argv_out], check=True, stdin=subprocess.DEVNULL)
    for file in cue_files:
        file.unlink()


# sound


@functools.cache
def spoken(text: str, voice: str = "slt") -> Samples:
    """Return the samples of a sentence, spoken by flite: 16,000 a second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spoken.wav"
        argv = ["flite", "-voice", voice, "-t", text, "-o", str(path)]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
        with wave.open(str(path)) as file:
            rate = file.getframerate()
            samples = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16)
    return samples if rate == RATE else _resampled(samples, rate)


def _resampled(samples: Samples, rate: int) -> Samples:
    frame = av.AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
    frame.sample_rate = rate
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
    pieces = [*resampler.resample(frame), *resampler.resample(None)]
    return np.concatenate([piece.to_ndarray()[0] for piece in pieces]).astype(np.int16)


def _spoken(speech: Speech, voice: str) -> Samples:
    texts = [(0.0, speech)] if isinstance(speech, str) else list(speech)
    pieces = [(int(start * RATE), spoken(text, voice)) for start, text in texts if text]
    samples = np.zeros(max((begin + len(one) for begin, one in pieces), default=0), np.int16)
    for begin, piece in pieces:
        samples[begin : begin + len(piece)] = piece
    return samples


def _sound(kind: Sound, samples: Samples, seconds: float) -> Samples:
    heard = np.zeros(int(seconds * RATE), np.int16)
    if kind == "speech":
        heard[: len(samples)] = samples[: len(heard)]
    elif kind == "music":
        times = np.arange(len(heard)) / RATE
        roots = 220 * 2 ** (np.array([0, 5, 7, 0])[(times * 2).astype(int) % 4] / 12)
        phase = 2 * np.pi * np.cumsum(roots) / RATE
        chord = np.sin(phase) + np.sin(phase * 5 / 4) + np.sin(phase * 3 / 2)
        heard[:] = chord * np.exp(-4 * (times * 2 % 1)) * 6000
    return heard


# pictures


class _Pictures:
    """The pictures of a clip: a background, and the captions of each time."""

    def __init__(
        self,
        captions: Sequence[Caption],
        size: tuple[int, int],
        background: Background,
        text_size: int,
    ) -> None:
        self._captions = captions
        self._size = size
        self._background = background
        self._text_size = text_size
        self._noise = np.random.default_rng(7).integers(0, 120, (9, 16, 3), dtype=np.uint8)

    @functools.lru_cache(maxsize=4)  # noqa: B019 - the object lives as long as one clip
    def picture(self, scene: int, shown: tuple[Caption, ...]) -> Image.Image:
        picture = self._scene(scene)
        draw = ImageDraw.Draw(picture)
        for caption in shown:
            place = caption[3] if len(caption) == 4 else "bottom"
            self._draw(draw, caption[2], place)
        return picture

    def at(self, seconds: float) -> Image.Image:
        scene = {"plain": 0, "scenes": int(seconds / 2), "moving": int(seconds * 100)}
        shown = tuple(one for one in self._captions if one[0] <= seconds < one[1])
        return self.picture(scene[self._background], shown)

    def _scene(self, scene: int) -> Image.Image:
        if self._background == "moving":
            noise = np.roll(self._noise, scene // 10, axis=1)
        else:
            noise = np.roll(self._noise, scene * 5, axis=0)
        return Image.fromarray(noise).resize(self._size, Image.Resampling.BICUBIC)

    def _draw(self, draw: ImageDraw.ImageDraw, text: str, place: Place) -> None:
        width, height = self._size
        middle = width / 2
        position, anchor = {
            "bottom": ((middle, height * 0.95), "md"),
            "top": ((middle, height * 0.05), "ma"),
            "middle": ((middle, height / 2), "mm"),
            "corner": ((width * 0.97, height * 0.05), "ra"),
        }[place]
        font = _font(text.isascii(), self._text_size if place != "corner" else 20)
        edge = max(2, self._text_size // 12)
        draw.text(
            position, text, fill="white", font=font, anchor=anchor, align="center",
            stroke_width=edge, stroke_fill="black",
        )  # fmt: skip


@functools.cache
def _font(is_latin: bool, size: int) -> ImageFont.FreeTypeFont:
    chinese = chinese_font()
    names = [*LATIN_FONTS] if is_latin else [str(chinese)] if chinese else []
    for name in names:
        if Path(name).exists():
            return ImageFont.truetype(name, size)
    raise FileNotFoundError(
        f"no font of {LATIN_FONTS if is_latin else CHINESE_FONTS} exists; install the Debian "
        "packages fonts-dejavu-core and fonts-noto-cjk"
    )


def _write(
    path: Path,
    heard: Samples | None,
    pictures: _Pictures | None = None,
    count: int = 0,
    frames_per_second: int = 10,
    rotation: int = 0,
) -> None:
    with av.open(str(path), "w") as file:
        video = audio = None
        if pictures is not None:
            video = file.add_stream("libx264", rate=frames_per_second)
            video.width, video.height = pictures._size
            video.pix_fmt = "yuv420p"
            video.options = {"preset": "veryfast", "crf": "20"}
            if rotation:
                video.set_display_rotation(rotation)
        if heard is not None:
            codec = {".wav": "pcm_s16le", ".flac": "flac", ".mp3": "libmp3lame"}
            added = file.add_stream(codec.get(path.suffix, "aac"), rate=RATE, layout="mono")
            audio = cast("AudioStream", added)
        if video is not None and pictures is not None:
            for number in range(count):
                picture = pictures.at(number / frames_per_second)
                frame = av.VideoFrame.from_ndarray(np.asarray(picture), format="rgb24")
                file.mux(video.encode(frame))
            file.mux(video.encode())
        if audio is not None and heard is not None:
            for begin in range(0, len(heard), 10 * RATE):
                piece = heard[np.newaxis, begin : begin + 10 * RATE]
                sound = av.AudioFrame.from_ndarray(piece, format="s16", layout="mono")
                sound.sample_rate, sound.pts = RATE, begin
                file.mux(audio.encode(sound))
            file.mux(audio.encode())

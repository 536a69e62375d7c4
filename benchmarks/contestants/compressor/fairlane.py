"""The compressor, compared with plain loops that call the same encoder on the same pictures.

The contestants alternate, a few pictures at a time, in one process and one run, and are compared
turn by turn, so that a noisy moment of the machine affects all of them. The loops run before and
after Fairlane's turn, because a machine that becomes slower or faster does so for seconds. They
write their files without a sync; Fairlane syncs each file before it gets its name, and each change
of each job.
"""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

from PIL import Image

from benchmarks.contestant_main import Figures, Request, Settings, answer
from fairlane import Fairlane
from fairlane_compressor import ffmpeg, picture_child
from fairlane_compressor.formats import FORMATS
from fairlane_compressor.order import Order
from fairlane_compressor.picture import PictureEncoder
from fairlane_compressor.program import build
from tests.support.eventually import eventually

SIZE = (1600, 1200)
AT_ONCE = 50
LOOPED = 12  # of each fifty, before and after them: enough to time a loop
MOTIFS = 20
QUALITY = 80


def pictures(folder: Path, count: int) -> list[Path]:
    """Generate photographs with realistic detail."""
    folder.mkdir()
    noise = Image.effect_noise((SIZE[0] // 8, SIZE[1] // 8), 80)
    ground = noise.resize(SIZE, Image.Resampling.BICUBIC)
    made: list[Path] = []
    for number in range(count):
        path = folder / f"{number:03}.jpg"
        if number < MOTIFS:
            priorities = [ground.rotate(7 * number + 40 * priority) for priority in range(3)]
            Image.merge("RGB", priorities).save(path, quality=92)
        else:
            path.write_bytes(made[number - MOTIFS].read_bytes())
        made.append(path)
    return made


async def plain(format: str, sources: Sequence[Path], folder: Path) -> None:
    """Encode in a loop in this process."""
    for source in sources:
        wanted = {
            "source": str(source), "format": format, "quality": QUALITY, "side": None,
            "colours": None, "target_bytes": None, "score": False,
        }  # fmt: skip
        data, _ = picture_child.encode_picture(wanted)
        _write(folder / source.name, data)


async def beside(
    picture_encoder: PictureEncoder, format: str, sources: Sequence[Path], folder: Path
) -> None:
    """Encode in a loop over a child process, where a bad picture can do no harm."""
    for source in sources:
        async with picture_encoder.start_encoding(
            Order(source=str(source)), FORMATS[format]
        ) as encoding:
            await encoding.written(folder / source.name, below=None)


async def queued(app: Fairlane, format: str, sources: Sequence[Path], folder: Path) -> None:
    """Encode with Fairlane, from the submission to the end of the last job."""
    compress = app.tasks["compress"]
    wishes = {"format": format, "folder": str(folder)}
    jobs = await app.submit_many([compress.call(source=str(one), **wishes) for one in sources])
    await asyncio.gather(*(job.wait() for job in jobs))


async def race(request: Request, format: str) -> Figures:
    sources = pictures(request.folder / "in", request.jobs)
    folders = {name: request.folder / name for name in ("plain", "beside", "queued")}
    for folder in folders.values():
        folder.mkdir()
    app, picture_encoder = build(f"sqlite:///{request.folder}/jobs.db"), PictureEncoder()
    spent: dict[str, list[float]] = {name: [] for name in folders}

    async def timed(work: Awaitable[None], count: int) -> float:
        began = time.perf_counter()
        await work
        return 1000 * (time.perf_counter() - began) / count

    async def looped(few: Sequence[Path]) -> tuple[float, float]:
        return (
            await timed(plain(format, few, folders["plain"]), len(few)),
            await timed(beside(picture_encoder, format, few, folders["beside"]), len(few)),
        )

    async with app:
        await beside(
            picture_encoder, format, sources[:1], folders["beside"]
        )  # both processes have started
        await queued(app, format, sources[:1], request.folder / "first")
        for start in range(0, len(sources), AT_ONCE):
            few = sources[start : start + AT_ONCE]
            before = await looped(few[:LOOPED])
            spent["queued"].append(
                await timed(queued(app, format, few, folders["queued"]), len(few))
            )
            after = await looped(few[:LOOPED])
            spent["plain"].append((before[0] + after[0]) / 2)
            spent["beside"].append((before[1] + after[1]) / 2)
    if len(list(folders["queued"].iterdir())) != len(sources):
        raise RuntimeError(f"{folders['queued']} has not all of the pictures")
    # The median of many short turns: other programs disturb only some of them.
    each = {name: median(turns) for name, turns in spent.items()}
    over = {
        name: median(a / b - 1 for a, b in zip(spent["queued"], spent[name], strict=True))
        for name in ("plain", "beside")
    }
    return {
        "per_second": 1000 / each["queued"],
        "plain_ms": each["plain"],
        "beside_ms": each["beside"],
        "queued_ms": each["queued"],
        "over_plain": over["plain"],
        "over_beside": over["beside"],
    }


def video(path: Path) -> Path:
    argv = [ffmpeg.find(), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=1280x720:d=20"]
    argv += ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "10", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)  # noqa: S603 - our own words
    return path


async def cancel(request: Request) -> Figures:
    """Cancel running encodes; a job ends when all its processes and files are gone."""
    source, out = video(request.folder / "video.mp4"), request.folder / "out"
    app = build(f"sqlite:///{request.folder}/jobs.db")
    compress, took = app.tasks["compress"], []
    async with app:
        for _ in range(request.jobs):
            job = await compress.submit(source=str(source), format="h265", folder=str(out))
            await eventually(lambda: _has_begun(out), what="the first bytes")
            began = time.perf_counter()
            await job.cancel()
            view = await app.jobs.wait(job.id)
            took.append(1000 * (time.perf_counter() - began))
            if view.state != "cancelled" or list(out.iterdir()):
                raise RuntimeError(f"the job is {view.state}, and files are left in {out}")
    return {"per_second": 1000 / median(took), "p50_ms": median(took), "worst_ms": max(took)}


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _has_begun(folder: Path) -> bool:
    return any(part.stat().st_size for part in folder.glob(".*.part*"))


def settings(_: Request) -> Settings:
    return {
        "version": version("fairlane"),
        "pictures": f"{SIZE[0]} × {SIZE[1]} pixels, of quality 92 to {QUALITY}",
        "encoder": f"Pillow {version('pillow')}",
    }


if __name__ == "__main__":
    answer({
        "settings": settings,
        "200 small pictures to WebP": lambda request: asyncio.run(race(request, "webp")),
        "200 small pictures to JPEG": lambda request: asyncio.run(race(request, "jpeg")),
        "cancel an encode": lambda request: asyncio.run(cancel(request)),
    })  # fmt: skip

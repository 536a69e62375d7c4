"""Encode pictures one after another, in a child process.

It is started as a file, imports no module of this package and receives its orders as lines on
standard input. A malicious picture can harm this process only; a slow one is killed with it.
"""

import contextlib
import errno
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

from PIL import Image, ImageMath, ImageOps, ImageSequence, UnidentifiedImageError, features

MOST_PIXELS = 500_000_000
BLOCK = 8
SEVERAL = ("webp", "png", "avif", "gif")  # formats with animation
USUAL_MILLISECONDS = 100  # of a frame without a duration, as in browsers
EXIF = b"Exif\0\0"
DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # modes that would become white
PR_SET_PDEATHSIG = 1


class Refused(Exception):
    """The picture is valid, but the requested result cannot be made of it."""


def main() -> None:
    parent = int(sys.argv[1])
    die_with(parent)
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS // 2  # Pillow refuses twice as many
    with contextlib.suppress(OSError):
        # If memory runs out, this process shall be killed first.
        Path("/proc/self/oom_score_adj").write_text("1000")
    kept: list[bytes] = []  # the last encoded picture, until it is written or replaced
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line), kept)) + "\n")
        sys.stdout.flush()


def answer(wanted: dict[str, Any], kept: list[bytes]) -> dict[str, Any]:
    try:
        match wanted.pop("verb"):
            case "make":
                kept.clear()
                data, facts = encode_picture(wanted)
                kept.append(data)
                return facts
            case "write":
                return {"written": write(kept, **wanted)}
            case _:
                return {"abilities": abilities()}
    except Refused as error:
        return {"refused": str(error)}
    except Image.DecompressionBombError:
        return {"corrupt": f"it claims to have more than {MOST_PIXELS // 1_000_000} million pixels"}
    except UnidentifiedImageError:  # its message repeats the file name, which the caller adds
        return {"corrupt": "nothing in it looks like a picture"}
    except OSError as error:
        if error.errno is not None and error.errno != errno.EINVAL:
            return {"errno": error.errno, "message": str(error), "path": error.filename}
        return {"corrupt": str(error)}
    except MemoryError:
        return {"errno": errno.ENOMEM, "message": "the memory ran out", "path": None}
    except Exception as error:  # noqa: BLE001 - whatever a decoder raises is about the picture
        return {"corrupt": f"{type(error).__name__}: {error}"}


def write(kept: list[bytes], *, path: str, below: int | None) -> bool:
    """Write the encoded picture, if there is one and it is small enough; return whether it was."""
    worth_it = bool(kept) and (below is None or len(kept[0]) < below)
    if worth_it:
        with Path(path).open("wb") as file:
            file.write(kept[0])
            file.flush()
            begin_to_sync(file.fileno())
    kept.clear()
    return worth_it


def begin_to_sync(file: int) -> None:
    """Start writing to the disk now, so that publishing waits less."""
    with contextlib.suppress(AttributeError, OSError):
        # To drop the pages from its cache, Linux must write them first.
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def abilities() -> list[str]:
    found = ["jpeg", "png"] if features.check("jpg") else ["png"]
    found += [name for name in ("webp", "avif") if features.check(name)]
    with contextlib.suppress(ImportError):
        import pillow_heif

        found += ["heic"] * bool(pillow_heif.libheif_info()["encoders"])
    return found


def encode_picture(wanted: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Return the encoded picture, and its figures."""
    if wanted["format"] == "heic" or wanted["source"].lower().endswith((".heic", ".heif")):
        can_heic()
    with Image.open(wanted["source"]) as opened:
        frames = getattr(opened, "n_frames", 1)
        moves = frames > 1 and opened.format not in ("MPO", "TIFF")
        if moves and wanted["format"] not in SEVERAL:
            raise Refused(f"it moves, and {wanted['format']} holds one picture: choose webp")
        if frames > 1 and opened.format == "TIFF":
            raise Refused("it has several pages, of which one would be left: choose zst")
        opened.load()
        image = fitted(opened, wanted) if not moves else opened
        data = by_size(image, wanted, moves=moves) if wanted["target_bytes"] else encoded(
            image, wanted, wanted["quality"], moves=moves
        )  # fmt: skip
        score = None
        if wanted["score"] and not moves:
            with Image.open(io.BytesIO(data)) as result:
                score = similarity(opened, result)
        width, height = image.size
    return data, {"width": width, "height": height, "score": score, "bytes": len(data)}


def can_heic() -> None:
    import pillow_heif

    pillow_heif.register_heif_opener()


def fitted(image: Image.Image, wanted: dict[str, Any]) -> Image.Image:
    """Convert a picture to the size and the colours that its new format supports."""
    info = image.info
    side = wanted["side"]
    is_larger = side is not None and max(image.size) > side
    if has_clear_colour(image) and (is_larger or wanted["format"] != "png" or image.mode == "RGB"):
        image = image.convert("RGBA")
    if is_larger:
        image = image.convert("RGB") if image.mode == "P" else image
        shape = [max(1, round(edge * side / max(image.size))) for edge in image.size]
        image = image.resize((shape[0], shape[1]), Image.Resampling.LANCZOS, reducing_gap=3.0)
    if image.mode in DEEP and (wanted["format"], image.mode) != ("png", "I;16"):
        raise Refused(f"its pixels are too deep for {wanted['format']} ({image.mode}): choose zst")
    if wanted["format"] == "png":
        image = image.convert("RGB") if image.mode in ("CMYK", "YCbCr") else image
        image = fewer_colours(image, wanted["colours"])
    elif wanted["format"] == "jpeg":
        image = opaque(image) if image.mode not in ("L", "RGB", "CMYK") else image
    elif image.mode not in ("RGB", "RGBA"):
        image = image.convert("RGBA" if image.mode in ("LA", "PA", "La", "RGBa") else "RGB")
    kept: dict[str | tuple[int, int], Any] = {
        name: info[name] for name in ("exif", "icc_profile") if info.get(name)
    }
    if has_clear_colour(image):
        kept["transparency"] = image.info["transparency"]
    image.info = kept
    return image


def has_clear_colour(image: Image.Image) -> bool:
    """Return whether a colour, or palette entries, stand for transparency."""
    return image.mode in ("1", "L", "P", "RGB") and "transparency" in image.info


def fewer_colours(image: Image.Image, colours: int | None) -> Image.Image:
    if colours is None or image.mode not in ("RGB", "RGBA"):
        return image
    method = Image.Quantize.FASTOCTREE if image.mode == "RGBA" else Image.Quantize.MEDIANCUT
    return image.quantize(colours, method=method)


def opaque(image: Image.Image) -> Image.Image:
    """Put transparent parts on white."""
    if image.mode in ("RGBA", "LA", "PA", "P"):
        image = image.convert("RGBA")
        ground = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(ground, image).convert("RGB")
    return image.convert("RGB")


def encoded(
    image: Image.Image, wanted: dict[str, Any], quality: int, *, moves: bool = False
) -> bytes:
    options: dict[str, Any] = {
        name: image.info[name] for name in ("exif", "icc_profile") if image.info.get(name)
    }
    if "exif" in options:  # a WebP stores it without the prefix that a JPEG needs
        options["exif"] = EXIF + options["exif"].removeprefix(EXIF)
    if moves:
        options |= {"save_all": True, **timing(image)}
    match wanted["format"]:
        case "jpeg":
            options |= {"quality": quality, "optimize": True, "progressive": True}
        case "png":
            options |= {"optimize": True}
        case "webp":
            options |= {"quality": quality, "method": 4}
        case "avif":
            options |= {"quality": quality, "speed": 6}
        case "heic":
            options |= {"quality": quality}
    buffer = io.BytesIO()
    name = "HEIF" if wanted["format"] == "heic" else wanted["format"].upper()
    try:
        image.save(buffer, name, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise Refused(f"no {wanted['format']} can be made of it: {error}") from error
    return buffer.getvalue()


def timing(image: Image.Image) -> dict[str, Any]:
    """Return the duration of each frame, and the number of repetitions, which Pillow does not
    copy."""
    durations = []
    for frame in ImageSequence.Iterator(image):
        frame.load()  # some formats know the duration only after loading
        durations.append(round(frame.info.get("duration", 0)) or USUAL_MILLISECONDS)
    image.seek(0)
    # A GIF without a loop plays once; in other formats 0 means forever.
    once = int(image.format == "GIF")
    return {"duration": durations, "loop": image.info.get("loop", once)}


def by_size(image: Image.Image, wanted: dict[str, Any], *, moves: bool) -> bytes:
    """Find the best quality that fits the size."""
    if wanted["format"] == "png":
        raise Refused("a PNG has no quality to give up for a size: choose webp or jpeg")
    low, high, best = 1, 95, b""
    while low <= high:
        quality = (low + high) // 2
        data = encoded(image, wanted, quality, moves=moves)
        if len(data) <= wanted["target_bytes"]:
            low, best = quality + 1, data
        else:
            high = quality - 1
    if not best:
        raise Refused(
            f"it cannot be made as small as {wanted['target_bytes']:,} bytes; a smaller preset has "
            "fewer pixels"
        )
    return best


def similarity(before: Image.Image, after: Image.Image) -> float:
    """Return the SSIM of the brightness, over blocks of eight by eight pixels."""
    shown, made = as_shown(before), as_shown(after)
    x, y = shown.convert("F"), made.resize(shown.size).convert("F")

    def mean(image: Any) -> Any:
        return image.reduce(BLOCK)

    def times(left: Any, right: Any) -> Any:
        return ImageMath.lambda_eval(lambda a: a["l"] * a["r"], l=left, r=right)

    means = {"x": mean(x), "y": mean(y), "xx": mean(times(x, x)), "yy": mean(times(y, y))}
    means["xy"] = mean(times(x, y))
    whole = ImageMath.lambda_eval(_ssim, **means).resize((1, 1), Image.Resampling.BOX)
    return round(min(1.0, float(whole.getpixel((0, 0)))), 4)


def as_shown(image: Image.Image) -> Image.Image:
    """Return the brightness, upright and on white, as displayed."""
    image = ImageOps.exif_transpose(image)
    is_clear = image.has_transparency_data
    return ImageOps.grayscale(opaque(image.convert("RGBA")) if is_clear else image)


def _ssim(a: dict[str, Any]) -> Any:
    light, contrast = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    x, y = a["x"], a["y"]
    spread = (a["xx"] - x * x) + (a["yy"] - y * y) + contrast
    alike = (2 * (a["xy"] - x * y) + contrast) * (2 * x * y + light)
    return alike / (spread * (x * x + y * y + light))


def die_with(parent: int) -> None:
    """End with the parent process, also during an encode."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main()

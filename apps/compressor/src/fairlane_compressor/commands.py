"""`fairlane-compress`: compress the named paths, or control the queue."""

import asyncio
import difflib
import json
from collections.abc import Coroutine
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from fairlane import Fairlane, FairlaneError, Priority
from fairlane_compressor import ffmpeg, savings, sizes
from fairlane_compressor.data_paths import address_of
from fairlane_compressor.file_kinds import Kind
from fairlane_compressor.formats import FORMATS
from fairlane_compressor.order import OnExists, Order, Sound
from fairlane_compressor.picture import PictureEncoder
from fairlane_compressor.presets import PRESETS, PresetName
from fairlane_compressor.program import app, build
from fairlane_compressor.session import FAILED, INTERRUPTED, Session
from fairlane_compressor.sources import Sources, find_sources, unused

NAME: Final = "fairlane-compress"
VERB: Final = "compress"
PANEL: Final = "Compress"

Json = Annotated[bool, typer.Option("--json", help="Print JSON")]
Database = Annotated[str | None, typer.Option(help="Another database than the default")]

commands = app.commands()


class PathsOrVerbs(TyperGroup):
    """A command group that compresses its arguments if the first one is no verb."""

    # Typer bundles its own Click, whose names are private.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {name for option in self.get_params(ctx) for name in option.opts}
        if args and args[0] not in self.commands and args[0] not in own:
            self._check(ctx, args[0])
            args = [VERB, *args]
        return super().parse_args(ctx, args)

    def _check(self, ctx: Any, word: str) -> None:
        """Refuse a mistyped verb: a word that resembles a verb and names no file."""
        if word.startswith("-") or Path(word).exists():
            return
        if meant := difflib.get_close_matches(word, self.commands, 1, 0.75):
            ctx.fail(f'"{word}" is neither a file nor a verb; did you mean {meant[0]}?')


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            number = version("fairlane-compressor")
        except PackageNotFoundError:
            number = "of a source folder"
        typer.echo(f"{NAME} {number}")
        raise typer.Exit


@commands.callback(cls=PathsOrVerbs)
def about(
    _: Annotated[
        bool,
        typer.Option("--version", help="Print the version", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Make videos, pictures, files and folders smaller, one at a time, in a durable queue.

    `fairlane-compress video.mp4 photos/ --preset small` compresses at once.

    The sources stay unchanged. `fairlane-compress serve` serves a web page.
    """


@commands.command(name=VERB, rich_help_panel=PANEL)
def compress(
    paths: Annotated[list[str], typer.Argument(help="Files, and folders with pictures and videos")],
    preset: Annotated[PresetName, typer.Option(help="How small")] = "balanced",
    format: Annotated[
        list[str] | None,
        typer.Option(
            help="Output format, used for files of its kind; zst, 7z and zip pack a whole folder"
        ),
    ] = None,
    quality: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, help="Instead of the preset's quality; 100 is best and largest"
        ),
    ] = None,
    size: Annotated[str | None, typer.Option(help="Largest size of each result, e.g. 25MB")] = None,
    sound: Annotated[Sound, typer.Option(help="The sound of videos")] = "encode",
    to: Annotated[str | None, typer.Option(help="Folder for the results")] = None,
    on_exists: Annotated[OnExists, typer.Option(help="When the target file exists")] = "rename",
    score: Annotated[
        bool, typer.Option("--score", help="Compare with the source (SSIM; 1 is identical)")
    ] = False,
    priority: Annotated[
        Literal["high", "normal", "low"], typer.Option(help="Priority among the waiting files")
    ] = "normal",
    as_json: Json = False,
    database: Database = None,
) -> None:
    """Compress files, and the files in folders; wait for the end. The verb can be omitted."""
    sources = [_path(path, "PATHS") for path in paths]
    wishes = Order(
        source="", preset=preset, quality=quality, target_bytes=_bytes(size), sound=sound,
        folder=None if to is None else str(_path(to, "--to").absolute()), on_exists=on_exists,
        score=score,
    )  # fmt: skip
    wanted = _formats(format)
    app = _app(database)

    async def run() -> int:
        made: set[str] = set()
        if any(source.is_dir() for source in sources):
            async with build(app.database, work=False) as looker:
                made = await savings.outputs(looker)
        found = find_sources(sources, wishes, wanted, made)
        _check_use(found, wanted)
        session = Session(app, name=NAME, as_json=as_json)
        return await session.compress(found, Priority[priority.upper()])

    _run_and_exit(run())


@commands.command(name="continue", rich_help_panel=PANEL)
def go_on(as_json: Json = False, database: Database = None) -> None:
    """Continue the jobs that Ctrl-C stopped, and wait for all other waiting jobs."""
    _run_and_exit(Session(_app(database), name=NAME, as_json=as_json).go_on())


@commands.command(name="savings", rich_help_panel=PANEL)
def show_savings(as_json: Json = False, database: Database = None) -> None:
    """Plot the saved bytes over time."""
    console = Console(highlight=False)

    async def draw() -> int:
        parts = max(20, min(100, console.width - 12))
        async with build(None if database is None else address_of(database), work=False) as looker:
            found = await savings.read(looker, parts=parts)
        if as_json:
            _print_json(None if found is None else msgspec.to_builtins(found))
        elif found is None:
            console.print("no file was compressed yet")
        else:
            savings.plot(found, console)
        return 0

    _run_and_exit(draw())


@commands.command(rich_help_panel=PANEL)
def presets(as_json: Json = False) -> None:
    """List the presets."""
    if as_json:
        _print_json([{"name": name, **msgspec.structs.asdict(PRESETS[name])} for name in PRESETS])
    else:
        table = Table("PRESET", "PURPOSE", box=None, pad_edge=False)
        for name, preset in PRESETS.items():
            table.add_row(name, preset.title)
        Console(highlight=False).print(table)


@commands.command(rich_help_panel=PANEL)
def formats(as_json: Json = False) -> None:
    """List the formats that this machine can create."""

    async def show() -> int:
        table = Table("FORMAT", "FOR", "DESCRIPTION", box=None, pad_edge=False)
        there = set(await PictureEncoder().abilities())
        try:
            program = ffmpeg.installed_ffmpeg()
        except FairlaneError as error:
            typer.echo(str(error), err=True)
        else:
            there |= {format.name for format in program.formats()}
        known = [one for one in FORMATS.values() if one.name in there or one.kind is Kind.FILE]
        if as_json:
            _print_json([
                {"name": one.name, "kind": str(one.kind), "suffix": one.suffix, "title": one.title}
                for one in known
            ])  # fmt: skip
            return 0
        for one in known:
            of = "files and folders" if one.kind is Kind.FILE else f"{one.kind}s"
            table.add_row(one.name, of, one.title)
        Console(highlight=False).print(table)
        return 0

    _run_and_exit(show())


def _app(database: str | None) -> Fairlane:
    return app if database is None else build(address_of(database))


def _path(text: str, hint: str) -> Path:
    if not text:
        raise typer.BadParameter("an empty name is no path; name a file", param_hint=hint)
    return Path(text)


def _check_use(found: Sources, formats: list[str]) -> None:
    """Refuse formats that fit no source; report the unused ones if some fit."""
    left = unused(found, formats)
    if not left or not found.orders:
        return
    words = "; ".join(f"{name} is for {FORMATS[name].kind}s" for name in left)
    if len(left) == len(formats):
        raise typer.BadParameter(f"{words}, and no source is one", param_hint="--format")
    typer.echo(f"{NAME}: not used: {', '.join(left)}", err=True)


def _formats(names: list[str] | None) -> list[str]:
    for name in names or []:
        if name not in FORMATS and name != "auto":
            known = ", ".join(FORMATS)
            raise typer.BadParameter(f"{name!r} is none of {known}", param_hint="--format")
    return [name for name in names or [] if name != "auto"]


def _bytes(size: str | None) -> int | None:
    try:
        return None if size is None else sizes.parse_size(size)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--size") from None


def _run_and_exit(running: Coroutine[Any, Any, int]) -> None:
    try:
        code = asyncio.run(running)
    except KeyboardInterrupt:  # before any job was submitted
        code = INTERRUPTED
    except FairlaneError as error:
        typer.echo(f"{NAME}: {error}", err=True)
        code = FAILED
    if code:
        raise typer.Exit(code)


def _print_json(facts: object) -> None:
    typer.echo(json.dumps(facts, indent=2))


def main() -> None:
    commands(prog_name=NAME)

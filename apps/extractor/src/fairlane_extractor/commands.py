"""`fairlane-extract`: extract the text of links and files, search it, or control the queue."""

import asyncio
import difflib
import json
import re
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from fairlane import FairlaneError, Priority
from fairlane_extractor.exports import Format, export
from fairlane_extractor.extraction import Order, Wish
from fairlane_extractor.program import Extractor
from fairlane_extractor.settings import MediaPolicy
from fairlane_extractor.site import build_with_site
from fairlane_extractor.sources.platforms import classify
from fairlane_extractor.terminal_run import FAILED, INTERRUPTED, TerminalRun

NAME: Final = "fairlane-extract"
VERB: Final = "extract"
PANEL: Final = "Extract"
USAGE: Final = 2  # exit codes, as Fairlane has them
NOT_FOUND: Final = 3
LANGUAGE: Final = re.compile("[a-z]{2,3}(-[A-Za-z0-9]{1,8})*")
JOINED: Final = ("txt", "json")  # formats in which several texts can follow each other

Json = Annotated[bool, typer.Option("--json", help="Print JSON")]


def _own_extractor() -> Extractor:
    try:
        return build_with_site()
    except (FairlaneError, OSError) as error:  # a setting is wrong
        typer.echo(f"{NAME}: {error}", err=True)
        sys.exit(USAGE)


extractor: Final = _own_extractor()
commands = extractor.app.commands()


class InputsOrVerbs(TyperGroup):
    """A command group that extracts its arguments if the first one is no verb."""

    # Typer bundles its own Click, whose names are private.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {name for option in self.get_params(ctx) for name in option.opts}
        if args and args[0] not in self.commands and args[0] not in own:
            self._check(ctx, args[0])
            args = [VERB, *args]
        return super().parse_args(ctx, args)

    def _check(self, ctx: Any, word: str) -> None:
        """Refuse a mistyped verb: a word that resembles a verb and is no input."""
        if word.startswith("-") or "/" in word or Path(word).exists():
            return
        if meant := difflib.get_close_matches(word, self.commands, 1, 0.75):
            ctx.fail(f'"{word}" is neither a file nor a verb; did you mean {meant[0]}?')


@commands.callback(cls=InputsOrVerbs)
def about() -> None:
    """Turn links and videos into text: what is said and shown in them, with times.

    `fairlane-extract talk.mp4 --format srt` extracts at once.

    `fairlane-extract serve` serves a page.
    """


@commands.command(name=VERB, rich_help_panel=PANEL)
def extract(
    inputs: Annotated[
        list[str], typer.Argument(help="Links, files, and folders (the files in them)")
    ],
    format: Annotated[Format, typer.Option(help="Format of the text")] = "txt",
    to: Annotated[
        Path | None, typer.Option(help="Folder for a file of each text, instead of stdout")
    ] = None,
    speech: Annotated[
        Wish, typer.Option(help="Recognise speech; auto: only without subtitles")
    ] = "auto",
    frames: Annotated[Wish, typer.Option(help="Read text on frames")] = "auto",
    language: Annotated[str | None, typer.Option(help="The language, such as en or zh")] = None,
    media: Annotated[
        MediaPolicy | None, typer.Option(help="Keep or remove downloaded media")
    ] = None,
    priority: Annotated[
        Literal["high", "normal", "low"], typer.Option(help="Priority among the waiting tasks")
    ] = "normal",
    as_json: Json = False,
) -> None:
    """Extract the text of inputs and wait for the end. The verb can be omitted."""
    names = [one for text in inputs for one in _expanded(text)]
    if to is None and len(names) > 1 and format not in JOINED and not as_json:
        raise typer.BadParameter(
            f"several {format} texts need files: --to FOLDER", param_hint="--format"
        )
    language = _checked_language(language)
    _check_folder(to)
    orders = [
        Order(
            input=one, speech=speech, frames=frames, language=language,
            media=media or extractor.settings.media,
        )
        for one in names
        if _is_text(one)
    ]  # fmt: skip
    run = TerminalRun(extractor, format=format, to=to, as_json=as_json)
    _run_and_exit(run.extract(orders, Priority[priority.upper()]))
    if len(orders) < len(names):
        raise typer.Exit(FAILED)


def _is_text(name: str) -> bool:
    """Return whether a file name is UTF-8, which a task needs; report one that is not."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode(errors="backslashreplace").decode()
        typer.echo(f"{NAME}: the name {shown} is not UTF-8; rename the file", err=True)
        return False
    return True


@commands.command(rich_help_panel=PANEL)
def text(
    task: Annotated[str, typer.Argument(help="The id of a task, as `jobs` lists it")],
    format: Annotated[Format, typer.Option(help="Format of the text")] = "txt",
) -> None:
    """Print the text of an extraction."""
    extractor.results.prepare()
    result = extractor.results.load(task)
    if result is None:
        hint = f"`{NAME} jobs` lists the tasks"
        typer.echo(f"{NAME}: there is no text of a task {task}; {hint}", err=True)
        raise typer.Exit(NOT_FOUND)
    sys.stdout.write(export(result, format))


@commands.command(rich_help_panel=PANEL)
def search(
    words: Annotated[list[str], typer.Argument(help="Words that a line must contain")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The number of lines")] = 20,
    as_json: Json = False,
) -> None:
    """Search the lines of all extracted texts."""
    extractor.results.prepare()
    page = extractor.results.search(" ".join(words), limit=limit)
    if as_json:
        typer.echo(json.dumps(msgspec.to_builtins(page.items), ensure_ascii=False, indent=2))
        return
    if not page.items:
        typer.echo(f"{NAME}: no text has the words {' '.join(words)}", err=True)
        raise typer.Exit(FAILED)
    table = Table("TIME", "LINE", "TITLE", box=None, pad_edge=False)
    table.add_column("TASK", no_wrap=True, overflow="ignore")  # to be copied
    for hit in page.items:
        minutes, seconds = divmod(int(hit.start), 60)
        table.add_row(f"{minutes}:{seconds:02}", hit.text, hit.title, hit.id)
    Console(highlight=False, markup=False).print(table)


def _checked_language(text: str | None) -> str | None:
    if text is None:
        return None
    first, dash, rest = text.partition("-")
    language = first.lower() + dash + rest
    if LANGUAGE.fullmatch(language) is None:
        raise typer.BadParameter(
            f'"{text}" is no code of a language, such as en, zh or pt-BR', param_hint="--language"
        )
    return language


def _check_folder(folder: Path | None) -> None:
    """Create the folder of the results now: the extraction may take an hour."""
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise typer.BadParameter(f"{folder}: {reason.lower()}", param_hint="--to") from None


def _expanded(text: str) -> list[str]:
    """Return an input as the task takes it: a link as it is, a file as an absolute path, a folder
    as the files in it."""
    if not text.strip():
        raise typer.BadParameter("an input is empty", param_hint="INPUTS")
    if classify(text) == "link":
        return [text]
    path = Path(text).absolute()
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file() and not _is_side_car(one))
        if not files:
            raise typer.BadParameter(f"{path} has no files", param_hint="INPUTS")
        return [str(one) for one in files]
    if not path.exists():
        hint = "; a link begins with https:// or http://" if "/" in text or "." in text else ""
        raise typer.BadParameter(f"{text} is neither a file nor a link{hint}", param_hint="INPUTS")
    return [str(path)]


def _is_side_car(path: Path) -> bool:
    """Return whether a file belongs to a media beside it, or is hidden."""
    hidden = path.name.startswith(".")
    return hidden or path.suffix.lower() in (".srt", ".vtt", ".ass", ".ssa", ".txt", ".json")


def _run_and_exit(running: Coroutine[Any, Any, int]) -> None:
    try:
        code = asyncio.run(running)
    except KeyboardInterrupt:  # before a task was submitted
        code = INTERRUPTED
    except FairlaneError as error:
        typer.echo(f"{NAME}: {error}", err=True)
        code = FAILED
    if code:
        raise typer.Exit(code)


def main() -> None:
    commands(prog_name=NAME)

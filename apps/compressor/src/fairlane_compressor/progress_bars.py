"""Progress bars in a terminal, and the summary at the end."""

from pathlib import Path
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from fairlane import EventView, JobView
from fairlane_compressor.sizes import format_size

_MOST_ROWS: Final = 30
_LONGEST_NAME: Final = 30


class _Narrow(Progress):
    """Leave room for the ^C that a terminal prints: a wrapped line would leave bars behind."""

    def get_renderable(self) -> RenderableType:
        return _Narrowed(super().get_renderable())


class _Narrowed:
    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrow = options.update(max_width=options.max_width - len("^C"))
        yield from console.render(self._inner, narrow)


class ProgressBars:
    """One bar for all jobs, one for the running job."""

    def __init__(self, console: Console, total: int) -> None:
        self._progress = _Narrow(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[words]}"),
            console=console,
            transient=True,
        )
        self._all = self._progress.add_task("all", total=total, words=f"0 of {total}")
        self._rows: dict[str, TaskID] = {}
        self._parts: dict[str, float] = {}
        self._total = total
        self._ended = 0

    def __enter__(self) -> "ProgressBars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def event(self, event: EventView, view: JobView | None) -> None:
        job = str(event.job)
        match event.type:
            case "job_progress":
                told = event.data.get("progress") or {}
                self._show(job, view, told.get("percent") or 0, told.get("message", ""))
            case "job_state_changed" if event.data["state"] in ("running", "retrying", "blocked"):
                is_blocked = view is not None and view.state == "blocked"
                self._show(job, view, 0, why(view) if view is not None and is_blocked else "")
            case "job_state_changed" if job in self._rows:
                self._progress.remove_task(self._rows.pop(job))
                self._parts.pop(job, None)

    def ended(self, _: JobView) -> None:
        self._ended += 1
        self._show_all()

    def _show(self, job: str, view: JobView | None, percent: float, words: str) -> None:
        if job not in self._rows:
            name = plain(Path(view.params["source"]).name if view is not None else job)
            format_size = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
            self._rows[job] = self._progress.add_task(escape(format_size), total=100, words="")
        self._parts[job] = percent / 100
        self._progress.update(self._rows[job], completed=percent, words=escape(plain(words)))
        self._show_all()

    def _show_all(self) -> None:
        words = f"{self._ended} of {self._total}"
        done = self._ended + sum(self._parts.values())
        self._progress.update(self._all, completed=min(done, self._total), words=words)


def plain(name: str) -> str:
    """Return a name on one line."""
    return "".join(letter if letter.isprintable() else "�" for letter in name)


def summary(views: list[JobView], console: Console) -> None:
    """Print the result of each job, and the total."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("file", overflow="fold")
    for name in ("before", "after", "saved"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("where", overflow="fold")
    scores = any(view.result.get("score") is not None for view in views if view.result)
    if scores:
        table.add_column("score", justify="right", no_wrap=True)
    # Of very many, the failed and the last ones are shown.
    bad = [view for view in views if view.state != "completed"]
    good = [view for view in views if view.state == "completed"]
    for view in [*good[-_MOST_ROWS:], *bad]:
        table.add_row(*_row(view), *([_score(view)] if scores else []))
    if len(good) > _MOST_ROWS:
        table.add_row(f"… and {len(good) - _MOST_ROWS} more")
    results = [view.result for view in views if view.state == "completed"]
    if len(results) > 1:
        before = sum(result["before_bytes"] for result in results)
        after = sum(result["after_bytes"] for result in results)
        table.add_section()
        table.add_row("all", format_size(before), format_size(after), _share(before, after))
    console.print(table)


def _row(view: JobView) -> tuple[str, str, str, str, str]:
    name = escape(plain(Path(view.params["source"]).name))
    result: dict[str, Any] = view.result or {}
    if view.state != "completed":
        return name, "", "", view.state, escape(plain(why(view)))
    before, after = result["before_bytes"], result["after_bytes"]
    where = "not smaller: the original is as good"
    if result["kept"] == "result":
        note = f" ({result['note']})" if result["note"] else ""
        where = f"{_near(result['output'])}{note}"
    elif result["output"]:
        where = f"{_near(result['output'])} (a copy: it did not get smaller)"
    return name, format_size(before), format_size(after), _share(before, after), escape(where)


def _score(view: JobView) -> str:
    score = (view.result or {}).get("score")
    return "" if score is None else f"{score:.3f}"


def _near(path: str) -> str:
    """Return a path relative to the current folder, if it is below it."""
    here = Path.cwd()
    return plain(str(Path(path).relative_to(here) if Path(path).is_relative_to(here) else path))


def why(view: JobView) -> str:
    if view.error is not None:
        return view.error.message
    return view.waiting_for[0].message if view.waiting_for else ""


def _share(before: int, after: int) -> str:
    if after > before:
        return "larger"  # of a tiny file, the container of a pack is larger than the content
    return f"{100 * (before - after) / before:.0f} %" if before else ""

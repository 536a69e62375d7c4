"""Progress in a terminal: a bar for each job, with its stage; lines of text elsewhere."""

from types import TracebackType
from typing import Any, Final, Protocol, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fairlane import EventView

LONGEST_NAME: Final = 40


class Display(Protocol):
    """A display of the progress of jobs, by their ids."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None, /,
    ) -> None: ...  # fmt: skip
    def show(self, event: EventView) -> None: ...
    def end(self, job: str, message: str) -> None: ...


def display_on(console: Console, names: dict[str, str]) -> Display:
    return ProgressRows(console, names) if console.is_terminal else ProgressLines(console, names)


class ProgressRows:
    """A bar for each job that runs."""

    def __init__(self, console: Console, names: dict[str, str]) -> None:
        self._console = console
        self._names = names
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[message]}"),
            console=console,
            transient=True,
        )
        self._rows: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, event: EventView) -> None:
        job = str(event.job)
        if event.type == "job_progress":
            self._update(job, event.data)
        elif event.type == "job_state_changed" and event.data["state"] == "running":
            self._update(job, {})
        elif event.type == "job_state_changed" and job in self._rows:
            self._progress.remove_task(self._rows.pop(job))

    def end(self, job: str, message: str) -> None:
        if message:
            self._console.print(escape(f"{self._names[job]}: {message}"), style="red")

    def _update(self, job: str, data: dict[str, Any]) -> None:
        if job not in self._rows:
            name = self._names.get(job, job)
            short = name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"
            self._rows[job] = self._progress.add_task(escape(short), total=100, message="")
        percent = (data.get("progress") or {}).get("percent") or 0
        self._progress.update(self._rows[job], completed=percent, message=_stage_in(data))


class ProgressLines:
    """A line for each job that ends with a reason, where no terminal draws bars."""

    def __init__(self, console: Console, names: dict[str, str]) -> None:
        self._console = console
        self._names = names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, event: EventView) -> None:
        pass

    def end(self, job: str, message: str) -> None:
        if message:
            self._console.print(f"{self._names[job]}: {message}", markup=False, soft_wrap=True)


def _stage_in(data: dict[str, Any]) -> str:
    """Return the running stage of a progress event and its message."""
    name = data.get("stage") or ""
    message = next((one["message"] for one in data.get("stages", ()) if one["name"] == name), "")
    return escape(" · ".join(word for word in (name, message) if word))

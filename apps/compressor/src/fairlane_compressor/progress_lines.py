"""Progress without a terminal: a line whenever a job waits."""

from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console

from fairlane import EventView, JobView
from fairlane_compressor.progress_bars import plain, why


class Display(Protocol):
    """A display of the progress of jobs."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None, /,
    ) -> None: ...  # fmt: skip
    def event(self, event: EventView, view: JobView | None) -> None: ...
    def ended(self, view: JobView) -> None: ...


class ProgressLines:
    """Print when a job waits and why, when it is retried, and when it continues."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._waiting: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def event(self, event: EventView, view: JobView | None) -> None:
        if view is None or event.type != "job_state_changed":
            return
        match event.data["state"]:
            case "blocked":
                self._tell(view, f"waits: {event.data.get('reason') or why(view)}")
            case "retrying":
                error = event.data.get("error") or {}
                self._tell(view, f"is tried again soon: {error.get('message', why(view))}")
            case "running" if self._waiting.pop(view.id, None) is not None:
                self._print(view, "goes on")

    def ended(self, view: JobView) -> None:
        self._waiting.pop(view.id, None)

    def _tell(self, view: JobView, words: str) -> None:
        if self._waiting.get(view.id) != words:
            self._waiting[view.id] = words
            self._print(view, words)

    def _print(self, view: JobView, words: str) -> None:
        name = Path(view.params["source"]).name
        self._console.print(plain(f"{name} {words}"), markup=False, soft_wrap=True)

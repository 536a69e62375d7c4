"""The report of one attempt: progress, stages, statistics, artifacts and the checkpoint."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from fairlane.errors import Permanent, TooLarge
from fairlane.runtime.storable_text import storable
from fairlane.store.views import Artifact, Progress, ReportBody, StageView
from fairlane.task.worker_link import WorkerLink

LARGEST_VALUE: Final = 64 * 1024
LONGEST_MESSAGE: Final = 500


def bounded_percent(percent: float) -> float:
    return round(float(min(100.0, max(0.0, percent))), 2)


def json_copy(label: str, value: Any) -> Any:
    """Return a copy of a value as JSON would give it back; raise if JSON cannot hold it."""
    try:
        text = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Permanent(
            f"{label} cannot be written as JSON ({error}); use numbers, text, lists and dicts",
            code="not_json",
        ) from None
    if len(text) > LARGEST_VALUE:
        raise TooLarge(label, len(text), LARGEST_VALUE)
    return value if isinstance(value, str | int | float | None) else msgspec.json.decode(text)


class Checkpoint(dict[str, Any]):
    """The values that a job stores for its next attempt; each change is reported."""

    def __init__(self, values: Mapping[str, Any], changed: Callable[[], None]) -> None:
        super().__init__(values)
        self._changed = changed

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise Permanent(f"checkpoint[{key!r}]: a key must be text", code="not_json")
        super().__setitem__(storable(key), json_copy(f"checkpoint[{key!r}]", value))
        self._changed()

    def update(self, *mappings: Any, **values: Any) -> None:
        for key, value in dict(*mappings, **values).items():
            self[key] = value

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._changed()

    def pop(self, key: str, *default: Any) -> Any:
        value = super().pop(key, *default)
        self._changed()
        return value

    def clear(self) -> None:
        super().clear()
        self._changed()


class AttemptReport:
    """The report of one attempt; the thread of the task changes it, the worker reads snapshots."""

    def __init__(
        self,
        link: WorkerLink,
        *,
        earlier: ReportBody,
        stages: Sequence[str],
        checkpoint: dict[str, Any],
    ) -> None:
        self._link = link
        self._lock = threading.RLock()
        self.stages = {
            stage.name: stage if stage.status in ("done", "skipped") else StageView(stage.name)
            for stage in earlier.stages
        }
        for name in stages:
            self.stages.setdefault(name, StageView(name))
        self._progress = Progress()
        self._has_progress = False  # the task has called ctx.progress
        self._is_declared = bool(stages)  # the program has declared all stages
        self._is_complete = False  # the function of the task has returned
        self._reached = None if stages else earlier.progress.percent  # the highest so far
        self._stage: str | None = None  # the stage that changed last
        self._statistics = dict(earlier.statistics)
        self._artifacts = {artifact.path: artifact for artifact in earlier.artifacts}
        self.checkpoint = Checkpoint(checkpoint, self.changed)
        self.is_empty = not (stages or earlier.stages or self._statistics or checkpoint)

    def changed(self, stage: str | None = None) -> None:
        """Announce a change, of this stage or else within the present one."""
        self.is_empty = False
        self._link.report(self.snapshot, stage or self._present_stage())

    def _present_stage(self) -> str | None:
        """Return the stage that changed last, if it has not ended."""
        present = self.stages.get(self._stage or "")
        return present.name if present and present.status in ("pending", "running") else None

    def set_progress(self, percent: float, message: str) -> None:
        with self._lock:
            self._has_progress = True
            message = storable(str(message)[:LONGEST_MESSAGE])
            self._progress = Progress(bounded_percent(percent), message)
        self.changed()

    def complete(self) -> None:
        """Count the stages so far as all stages: the function of the task has returned."""
        self._is_complete = True
        if self.stages and not (self._is_declared or self._has_progress):
            self.changed()

    def add_statistics(self, statistics: Mapping[str, Any]) -> None:
        values = {
            storable(name): json_copy(f"report({name}=…)", value)
            for name, value in statistics.items()
        }
        with self._lock:
            self._statistics.update(values)
        self.changed()

    def add_artifact(self, artifact: Artifact) -> None:
        with self._lock:
            self._artifacts[artifact.path] = artifact
        self.changed()

    def change_stage(self, name: str, **changes: Any) -> None:
        with self._lock:
            view = self.stages.setdefault(name, StageView(name))
            for field, value in changes.items():
                setattr(view, field, value)
            self._stage = name
        self.changed(name)

    def snapshot(self) -> ReportBody:
        with self._lock:
            return ReportBody(
                Progress(self._percent(), self._progress.message),
                [msgspec.structs.replace(stage) for stage in self.stages.values()],
                dict(self._statistics),
                list(self._artifacts.values()),
                dict(self.checkpoint),
            )

    def _percent(self) -> float | None:
        """Return the progress that the task set, or else the mean of its stages.

        A stage that is added later lowers the mean; the progress stays where it was. Without
        declared stages it also stays after a retry or a lower `ctx.progress`.
        """
        if self._has_progress:
            if self._is_declared:
                return self._progress.percent
            percent = self._progress.percent
        else:
            percent = self._mean_of_stages()
        if percent is not None:
            self._reached = percent if self._reached is None else max(self._reached, percent)
        return self._reached

    def _mean_of_stages(self) -> float | None:
        """Return the mean of the stages; without declared stages another one is expected."""
        if not self.stages:
            return None
        done = [
            100.0 if s.status in ("done", "skipped") else s.percent for s in self.stages.values()
        ]
        expected = 0 if self._is_declared or self._is_complete else 1
        return round(sum(done) / (len(done) + expected), 1)

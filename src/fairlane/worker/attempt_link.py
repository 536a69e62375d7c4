"""The link between an attempt and its worker: reports, log lines, stage limits, stored values."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from fairlane.core.decisions import Start
from fairlane.core.inputs import EnterStage, LeaveStage, StartConfirmed, StoreValue
from fairlane.redaction import Redactor
from fairlane.store.views import ReportBody
from fairlane.task.attempt_report import AttemptReport

if TYPE_CHECKING:
    from fairlane.worker.worker import Worker

Uses = tuple[tuple[str, int], ...]


class StageTokens:
    """The tokens of the stages of an attempt, which most attempts do not have."""

    def __init__(self) -> None:
        self.entering: dict[str, EnterStage] = {}  # requests without an answer
        self.held: dict[str, Uses] = {}  # the resources of each granted token
        self.left_behind: dict[str, Uses] = {}  # held by functions past their time-out

    def leftovers(self) -> Uses:
        held: Counter[str] = Counter()
        for uses in self.left_behind.values():
            held.update(dict(uses))
        return tuple(sorted(held.items()))


class AttemptLink:
    """The `WorkerLink` of an attempt that runs in this process.

    An attempt in a child process has another link there; `child_attempt` passes its messages on to
    this one. The link does not refer to its attempt: that cycle of references would leave every
    ended attempt to the garbage collector.
    """

    kills_threads = False

    def __init__(self, worker: "Worker", start: Start) -> None:
        self.start = start
        self._worker = worker
        self._time = asyncio.get_running_loop().time
        self.redactor: Redactor | None = None
        self._active_at = self._time()  # when the task last reported or logged
        self._waiting: set[str] = set()  # the names of stages; threads add and discard them
        self._tokens: StageTokens | None = None  # of the first stage and the later ones
        self.live_report: AttemptReport | None = None
        self.child_report: str | None = None  # the last one from a child process, as JSON

    @property
    def is_waiting(self) -> bool:
        """Whether a stage waits for a limit, a resource or its backoff."""
        return bool(self._waiting)

    @property
    def active_at(self) -> float:
        """Return when the attempt last made progress; a wait for the engine is no lack of it."""
        return self._time() if self.is_waiting else self._active_at

    def mark_active(self) -> None:
        self._active_at = self._time()

    def mark_waiting(self, stage: str, *, waits: bool) -> None:
        self._active_at = self._time()
        (self._waiting.add if waits else self._waiting.discard)(stage)

    def report(self, snapshot: Callable[[], ReportBody], stage: str | None) -> None:
        self._active_at = self._time()
        self._worker.queue_report(self, lambda: self._masked(snapshot()), stage)

    def log(self, level: str, message: str) -> None:
        self._active_at = self._time()
        message = self.redactor.redact(message) if self.redactor else message
        self._worker.queue_log_line(self, level, message)

    def confirm_start(self) -> None:
        """Report that the worker does not refuse the attempt any more."""
        start, token = self.start, self._worker.new_token()
        confirmed = StartConfirmed(start.job, start.worker, start.fence, token)
        self._worker.send_until_acknowledged(token, confirmed)

    async def enter_stage(
        self, stage: str, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]
    ) -> str:
        start = self.start
        token = self._worker.new_token()
        tokens = self._tokens = self._tokens or StageTokens()
        entry = tokens.entering[token] = EnterStage(
            start.job, start.worker, start.fence, token, limits, uses, stage, tokens.leftovers()
        )
        try:
            await self._worker.request(token, entry)
        except BaseException:
            self.leave_stage(token)
            raise
        finally:
            del tokens.entering[token]
        tokens.held[token] = uses
        return token

    def leave_behind(self, token: str) -> None:
        """Count the resources of a token as gone until the attempt ends, or its function returns.

        A stage of the same attempt that waits for them is checked again: it may wait in vain.
        """
        assert self._tokens is not None
        self._tokens.left_behind[token] = self._tokens.held.pop(token, ())
        leftovers = self._tokens.leftovers()
        for waiting, entry in self._tokens.entering.items():
            again = msgspec.structs.replace(entry, leftovers=leftovers)
            self._worker.send_until_acknowledged(waiting, again)

    def leave_stage(self, token: str) -> None:
        if self._tokens is not None:
            self._tokens.held.pop(token, None)
            self._tokens.left_behind.pop(token, None)
        start = self.start
        self._worker.send(LeaveStage(start.job, start.worker, start.fence, token))

    async def store_value(self, name: str, body: str | None) -> None:
        token = self._worker.new_token()
        await self._worker.request(token, self._value(token, name, body))

    def store_value_soon(self, name: str, body: str) -> None:
        token = self._worker.new_token()
        self._worker.send_soon(self, token, self._value(token, name, body))

    def _value(self, token: str, name: str, body: str | None) -> StoreValue:
        start = self.start
        return StoreValue(start.job, start.worker, start.fence, token, name, body)

    def final_report(self) -> str | None:
        """Return the report that is stored with the outcome, as JSON."""
        if self.live_report is None:
            return self.child_report
        if self.live_report.is_empty:
            return None
        return msgspec.json.encode(self._masked(self.live_report.snapshot())).decode()

    def drop_report(self) -> None:
        self.live_report = self.child_report = None

    def _masked(self, report: ReportBody) -> ReportBody:
        """Mask secrets in a report, but not in the checkpoint, which the job itself reads."""
        if self.redactor is not None:
            redact = self.redactor.redact
            report.progress.message = redact(report.progress.message)
            for stage in report.stages:
                stage.message = redact(stage.message)
            for name, value in report.statistics.items():
                if isinstance(value, str):
                    report.statistics[name] = redact(value)
        return report

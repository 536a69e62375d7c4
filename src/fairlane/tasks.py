"""Tasks and calls: a registered function, and one use of it with its parameters."""

import copy
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    ParamSpec,
    TypedDict,
    TypeVar,
    Unpack,
)

import msgspec
from msgspec import Struct

from fairlane.core.inputs import Submission
from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId, Reason, Terms
from fairlane.core.retry import Retry
from fairlane.core.validation import check_text, is_count, priority_of, settings_as
from fairlane.errors import BadSetting, TooLarge, UsageError
from fairlane.ids import new_id
from fairlane.leader.fire_times import LAST_INSTANT
from fairlane.task.definition import Definition, Template, fill
from fairlane.task.option_checks import OptionChecks
from fairlane.task.output_files import OutputPolicy, output_exists, path_key, resolve
from fairlane.task.parameters import digest

if TYPE_CHECKING:
    from fairlane.client.job import Job
    from fairlane.client.submissions import Submissions

P = ParamSpec("P")
R = TypeVar("R")

LARGEST_META: Final = 64 * 1024
# The leader decides and commits a submission as a whole, while every other request waits.
LARGEST_SUBMISSION: Final = 32 * 1024 * 1024
MOST_JOBS: Final = 50_000
_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_A_COUNT: Final = "a whole number, 0 or more"


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of a single submission; None leaves the option of the task."""

    priority: Priority = Priority.NORMAL
    run_at: datetime | None = None
    depends_on: Sequence[Any] = ()
    run_anyway: bool = False
    kind: Literal["start", "continue"] = "start"
    meta: Mapping[str, Any] = {}
    queue: str | None = None
    lane: str | None = None
    dedupe: str | None = None
    id: str | None = None


_NO_OPTIONS: Final = Options()

EXPECTED: Final = {
    "run_at": "a datetime",
    "depends_on": "a list of jobs or their ids",
    "run_anyway": "True or False",
    "meta": "a dict that can be written as JSON",
    **dict.fromkeys(("queue", "lane", "dedupe", "id"), "text, or None"),
}


class OptionValues(TypedDict, total=False):
    """The arguments of `Task.options(…)`, for a type checker."""

    priority: Priority | Literal["high", "normal", "low"]
    run_at: datetime | None
    depends_on: "Sequence[Job[Any] | str]"
    run_anyway: bool
    kind: Literal["start", "continue"]
    meta: Mapping[str, Any]
    queue: str | None
    lane: str | None
    dedupe: str | None
    id: str | None


class Policies(Struct, frozen=True, kw_only=True):
    """The options of a task that the scheduler reads, some as templates over its parameters."""

    queue: str = "default"
    lane: Template | None = None
    bucket: Template | None = None
    dedupe: Template | None = None
    limits: Sequence[Template] = ()
    uses: Mapping[str, int] = {}
    requires: Sequence[Template] = ()
    retry: Retry | None = None
    deadline_seconds: float | None = None
    recover: int = 1
    hold_lane: bool = True

    def check(self, definition: Definition) -> None:
        """Raise for the first option that cannot work for this task."""
        checks = OptionChecks(definition.name, definition.parameters)
        checks.expect(_is_text(self.queue), "queue", self.queue, "the name of a queue")
        for option in ("lane", "bucket", "dedupe"):
            checks.template(option, getattr(self, option))
        checks.templates("limits", self.limits, example='"site"')
        checks.templates("requires", self.requires, example='"gpu"')
        checks.expect(
            _are_amounts(self.uses),
            "uses",
            self.uses,
            'a dict of whole numbers, e.g. uses={"gpu": 1}',
        )
        has_retry = self.retry is None or isinstance(self.retry, Retry)
        checks.expect(has_retry, "retry", self.retry, "a Retry, e.g. Retry(times=3), or None")
        checks.seconds("deadline_seconds", self.deadline_seconds)
        checks.expect(is_count(self.recover), "recover", self.recover, _A_COUNT)
        checks.flag("hold_lane", self.hold_lane)


def _are_amounts(uses: object) -> bool:
    return isinstance(uses, Mapping) and all(
        _is_text(name) and is_count(amount, least=1) for name, amount in uses.items()
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


class Call(Generic[R]):
    """A task with checked parameters, ready to be submitted or scheduled."""

    def __init__(self, task: "Task[Any, R]", values: dict[str, Any], options: Options) -> None:
        self.task = task
        self.params = task.definition.parameters.encode(values)
        self._values = values
        self._options = options
        self._request: str | None = None

    def with_id(self, id: JobId, request: str) -> "Call[R]":
        """Return this call under an id; `request` is stored to recognize another request."""
        copied = copy.copy(self)
        copied._options = msgspec.structs.replace(self._options, id=id)
        copied._request = request
        return copied

    @property
    def stored_params(self) -> str:
        """The parameters as they are stored, with encrypted secrets if the program has a key."""
        return self.task.definition.parameters.encrypt(self.params)

    @property
    def has_own_id(self) -> bool:
        return self._options.id is not None

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={repr(value)[:80]}" for name, value in self._values.items())
        return f"<Call {self.task.name}({values:.300})>"

    def submission(self, reserve: Callable[[JobId, Path], Path] | None = None) -> Submission:
        """Fill in the templates; `reserve` finds a free name for an output that may be renamed."""
        policies, options, values = self.task.policies, self._options, self._values
        id = _check_id(options.id) if options.id is not None else new_id()
        lane = options.lane if options.lane is not None else fill(policies.lane, values)
        limits = _fill_all(policies.limits, values)
        requires = tuple(sorted(_fill_all(policies.requires, values)))
        dedupe = options.dedupe if options.dedupe is not None else fill(policies.dedupe, values)
        bucket = fill(policies.bucket, values)
        queue = options.queue or policies.queue
        named = (("queue", queue), ("lane", lane), ("dedupe key", dedupe), ("bucket", bucket))
        for kind, text in named:
            if text is not None:
                check_text(kind, text)
        for key in limits:
            check_text("limit", key)
        for label in requires:
            check_text("label", label)
        run_at = None if options.run_at is None else _timestamp(options.run_at)
        depends_on, meta = _ids(options.depends_on), _meta(options.meta)
        paths = self._output_paths()
        skip_reason = self._skip_reason(paths)
        # Last: names that are reserved here are released only with the whole submission.
        outputs = self._reserve_outputs(id, paths, None if skip_reason else reserve)
        return Submission(
            id=id,
            task=self.task.name,
            queue=queue,
            lane=lane,
            kind=options.kind,
            priority=options.priority,
            run_at=run_at,
            dedupe=dedupe,
            digest=None if lane is None else self._digest(paths),
            bucket=bucket,
            depends_on=depends_on,
            terms=self.task.terms(limits, requires, options.run_anyway, self._shared(outputs)),
            params=self.stored_params,
            meta=meta,
            options=self._worker_options(outputs),
            skip_reason=skip_reason,
        )

    def _output_paths(self) -> list[Path]:
        templates = self.task.definition.outputs
        return [resolve(path) for t in templates if (path := fill(t, self._values))]

    @property
    def _policy(self) -> OutputPolicy:
        return self.task.definition.policy(self._values)

    def _skip_reason(self, paths: list[Path]) -> Reason | None:
        """Name the output that exists already, if the policy is to skip such a job."""
        if not paths or self._policy is not OutputPolicy.SKIP:
            return None
        return next((output_exists(path) for path in paths if path.exists()), None)

    def _reserve_outputs(
        self, id: JobId, paths: list[Path], reserve: Callable[[JobId, Path], Path] | None
    ) -> list[str]:
        """Reserve unused output paths now, if the policy is to rename."""
        if paths and reserve is not None and self._policy is OutputPolicy.RENAME:
            paths = [reserve(id, path) for path in paths]
        return [str(path) for path in paths]

    def _shared(self, outputs: list[str]) -> tuple[str, ...]:
        """Return the paths that other jobs may write as well; a renamed output is never shared."""
        if not outputs or self._policy is OutputPolicy.RENAME:
            return ()
        return tuple(map(path_key, outputs))

    def _digest(self, paths: list[Path]) -> str:
        """Digest the task, parameters and output paths as they were before a rename.

        Two equal calls have equal digests, though their outputs get different names.
        """
        parameters = self.task.definition.parameters
        cipher = parameters.cipher if parameters.secrets else None
        return digest(self.task.name, self.params, str([str(path) for path in paths]), cipher)

    def _worker_options(self, outputs: list[str]) -> str:
        options: dict[str, Any] = {}
        if outputs:
            options["outputs"] = outputs
        if self.task.definition.parameters.secrets:
            options["secrets"] = self.task.definition.parameters.secrets
        if self._request is not None:
            options["request"] = self._request
        return msgspec.json.encode(options).decode() if options else "{}"


def check_size(submissions: Sequence[Submission]) -> None:
    """Raise if a submission is larger than the leader decides and stores as a whole."""
    noun, advice = "a submission", "submit it in several parts"
    if len(submissions) > MOST_JOBS:
        raise TooLarge(noun, len(submissions), MOST_JOBS, unit="jobs", advice=advice)
    texts = [text for job in submissions for text in (job.params, job.meta, job.options)]
    if sum(map(len, texts)) * 4 > LARGEST_SUBMISSION:  # a character has four bytes at most
        size = sum(len(text.encode()) for text in texts)
        if size > LARGEST_SUBMISSION:
            raise TooLarge(noun, size, LARGEST_SUBMISSION, advice=advice)


def require_call(value: object) -> Call[Any]:
    """Return a call; raise with the way to make one if the value is not a call."""
    if isinstance(value, Call):
        return value
    if inspect.iscoroutine(value):
        value.close()  # it will never be awaited, which Python would warn about
    name = value.name if isinstance(value, Task) else "task"
    raise UsageError(f"a call is needed, got {repr(value)[:200]}; pass {name}.call(…)")


def _fill_all(templates: Sequence[Template], values: Mapping[str, Any]) -> tuple[str, ...]:
    if not templates:
        return ()
    return tuple(filled for template in templates if (filled := fill(template, values)))


def _ids(jobs: Sequence[Any]) -> tuple[JobId, ...]:
    ids = tuple(JobId(getattr(job, "id", job)) for job in jobs) if jobs else ()
    for id in ids:
        check_text("id of a job", id)
    return ids


def _check_id(id: str) -> JobId:
    if not _ID.fullmatch(id):
        raise BadSetting(
            f"the id {id[:120]!r} cannot be used; use up to 100 letters, digits, or any of _ . : -"
        )
    return JobId(id)


def _timestamp(run_at: datetime) -> float:
    try:
        seconds = run_at.timestamp()
    except (OverflowError, ValueError):
        seconds = -1.0
    if not 0 <= seconds <= LAST_INSTANT:
        raise BadSetting(f"run_at is {run_at}; it must lie between 1970 and the year 9000")
    return seconds


def _meta(meta: Mapping[str, Any]) -> str:
    if not meta:
        return "{}"
    try:
        text = msgspec.json.encode(meta)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadSetting(f"meta cannot be written as JSON: {error}") from None
    if len(text) > LARGEST_META:
        raise TooLarge("meta", len(text), LARGEST_META)
    return text.decode()


class Task(Generic[P, R]):
    """A registered function. Calling it directly runs it in the caller, without the queue."""

    def __init__(
        self, submissions: "Submissions", definition: Definition, policies: Policies
    ) -> None:
        self._submissions = submissions
        self.definition = definition
        definition.parameters.cipher = submissions.cipher
        self.policies = policies
        self._last_terms: tuple[Any, Terms] | None = None
        self.__wrapped__ = definition.function
        self.__doc__ = definition.function.__doc__
        self.__name__ = getattr(definition.function, "__name__", definition.name)

    def __repr__(self) -> str:
        return f'<Task "{self.name}" of queue "{self.policies.queue}">'

    @property
    def name(self) -> str:
        return self.definition.name

    def terms(
        self,
        limits: tuple[str, ...],
        requires: tuple[str, ...],
        run_anyway: bool,
        outputs: tuple[str, ...],
    ) -> Terms:
        """Return the terms of a job for the scheduler; most jobs of a task share one object."""
        key = (limits, requires, run_anyway, outputs)
        if self._last_terms is None or self._last_terms[0] != key:
            policies = self.policies
            self._last_terms = (
                key,
                Terms(
                    limits=limits,
                    uses=tuple(sorted(policies.uses.items())),
                    requires=requires,
                    retry=policies.retry,
                    deadline_seconds=policies.deadline_seconds,
                    recover=policies.recover,
                    hold_lane=policies.hold_lane,
                    run_anyway=run_anyway,
                    outputs=outputs,
                ),
            )
        return self._last_terms[1]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.definition.function(*args, **kwargs)

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Check parameters and return a call to submit or schedule later."""
        values = self.definition.parameters.validate(args, kwargs)
        return Call(self, values, _NO_OPTIONS)

    async def submit(self, /, *args: P.args, **kwargs: P.kwargs) -> "Job[R]":
        """Submit a job; once this returns it is on disk."""
        return await self._submissions.submit(self.call(*args, **kwargs))

    def options(self, **options: Unpack[OptionValues]) -> "ConfiguredTask[P, R]":
        """Return the task with options for one submission: priority, run_at, depends_on, kind,
        meta, queue, lane or dedupe."""
        values: dict[str, Any] = {**options}
        owner = f'a submission of "{self.name}"'
        if "priority" in values:
            values["priority"] = priority_of(owner, values["priority"])
        checked = settings_as(
            Options, values, owner=owner, strict=False,
            called="options of a submission", expected=EXPECTED,
        )  # fmt: skip
        return ConfiguredTask(self._submissions, self, checked)


class ConfiguredTask(Generic[P, R]):
    """A task with options for the next submission."""

    def __init__(self, submissions: "Submissions", task: Task[P, R], options: Options) -> None:
        self._submissions = submissions
        self._task = task
        self._options = options

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        values = self._task.definition.parameters.validate(args, kwargs)
        return Call(self._task, values, self._options)

    async def submit(self, /, *args: P.args, **kwargs: P.kwargs) -> "Job[R]":
        return await self._submissions.submit(self.call(*args, **kwargs))

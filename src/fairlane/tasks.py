"""Tasks and calls: a function of yours, and one use of it with its parameters."""

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
from fairlane.core.live_job import JobId, Terms
from fairlane.core.retry import Retry
from fairlane.core.validation import check_text, is_count, settings_as
from fairlane.errors import BadSetting, TooLarge, UsageError
from fairlane.ids import new_id
from fairlane.leader.schedule_trigger import LAST_INSTANT
from fairlane.task.definition import Definition, Template, fill
from fairlane.task.option_checks import OptionChecks
from fairlane.task.output_files import OutputPolicy, resolve
from fairlane.task.parameters import digest

if TYPE_CHECKING:
    from fairlane.client.job import Job
    from fairlane.client.submissions import Submissions

P = ParamSpec("P")
R = TypeVar("R")

LARGEST_META: Final = 64 * 1024
# What one decision of the leader, and one commit, take in without keeping all others waiting.
LARGEST_SUBMISSION: Final = 32 * 1024 * 1024
MOST_JOBS: Final = 50_000
_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_A_COUNT: Final = "a whole number, 0 or more"


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a single submission may choose for itself; None leaves what the task says."""

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


_NO_CHOICES: Final = Options()

EXPECTED: Final = {
    "priority": "high, normal or low, by name or as a Priority",
    "run_at": "a datetime",
    "depends_on": "a list of jobs or their ids",
    "run_anyway": "True or False",
    "meta": "a dict of what can be written as JSON",
    **dict.fromkeys(("queue", "lane", "dedupe", "id"), "text, or None"),
}


class Choices(TypedDict, total=False):
    """The same for a type checker: what `options(…)` takes."""

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
    """What a task asks of the scheduler, as templates over its parameters."""

    queue: str = "default"
    lane: Template | None = None
    bucket: Template | None = None
    dedupe: Template | None = None
    limits: Sequence[Template] = ()
    uses: Mapping[str, int] = {}
    requires: Sequence[Template] = ()
    retry: Retry | None = None
    recover: int = 1
    hold_lane: bool = True

    def check(self, definition: Definition) -> None:
        """Raise about the first option that could not work for this task."""
        declared = OptionChecks(definition.name, definition.parameters)
        declared.expect(_is_text(self.queue), "queue", self.queue, "the name of a queue")
        for option in ("lane", "bucket", "dedupe"):
            declared.template(option, getattr(self, option))
        declared.templates("limits", self.limits, example='"site"')
        declared.templates("requires", self.requires, example='"gpu"')
        declared.expect(
            _are_amounts(self.uses),
            "uses",
            self.uses,
            'a dict of whole numbers, e.g. uses={"gpu": 1}',
        )
        has_retry = self.retry is None or isinstance(self.retry, Retry)
        declared.expect(has_retry, "retry", self.retry, "a Retry, e.g. Retry(times=3), or None")
        declared.expect(is_count(self.recover), "recover", self.recover, _A_COUNT)
        declared.flag("hold_lane", self.hold_lane)


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
        """Return this call under an id; `request` is kept, to tell it from another one's."""
        named = copy.copy(self)
        named._options = msgspec.structs.replace(self._options, id=id)
        named._request = request
        return named

    @property
    def has_own_id(self) -> bool:
        return self._options.id is not None

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={repr(value)[:80]}" for name, value in self._values.items())
        return f"<Call {self.task.name}({values:.300})>"

    def submission(self, reserve: Callable[[JobId, Path], Path] | None = None) -> Submission:
        """Fill in the templates; `reserve` finds a free name for an output that may be renamed."""
        policies, options, values = self.task.policies, self._options, self._values
        id = _own_id(options.id) if options.id is not None else new_id()
        lane = options.lane if options.lane is not None else fill(policies.lane, values)
        limits = _filled(policies.limits, values)
        requires = tuple(sorted(_filled(policies.requires, values)))
        dedupe = options.dedupe if options.dedupe is not None else fill(policies.dedupe, values)
        bucket = fill(policies.bucket, values)
        queue = options.queue or policies.queue
        named = (("queue", queue), ("lane", lane), ("dedupe key", dedupe), ("bucket", bucket))
        for what, text in named:
            if text is not None:
                check_text(what, text)
        for key in limits:
            check_text("limit", key)
        for tag in requires:
            check_text("tag", tag)
        run_at = None if options.run_at is None else _instant(options.run_at)
        depends_on, meta = _ids(options.depends_on), _meta(options.meta)
        wanted = self._wanted_outputs()
        exists = self._existing(wanted)
        # Last, because what is reserved here is given back only with the whole submission.
        outputs = self._fixed(id, wanted, None if exists else reserve)
        return Submission(
            id=id,
            task=self.task.name,
            queue=queue,
            lane=lane,
            kind=options.kind,
            priority=options.priority,
            run_at=run_at,
            dedupe=dedupe,
            digest=None if lane is None else self._digest(wanted),
            bucket=bucket,
            depends_on=depends_on,
            terms=self.task.terms(limits, requires, options.run_anyway),
            params=self.params,
            meta=meta,
            options=self._worker_options(outputs),
            skip_reason=exists,
        )

    def _wanted_outputs(self) -> list[Path]:
        templates = self.task.definition.outputs
        return [resolve(path) for t in templates if (path := fill(t, self._values))]

    @property
    def _policy(self) -> OutputPolicy:
        return self.task.definition.policy(self._values)

    def _existing(self, wanted: list[Path]) -> str | None:
        """Say which output exists already, if that is a reason to skip."""
        if not wanted or self._policy is not OutputPolicy.SKIP:
            return None
        return next((f"{path} exists already" for path in wanted if path.exists()), None)

    def _fixed(
        self, id: JobId, wanted: list[Path], reserve: Callable[[JobId, Path], Path] | None
    ) -> list[str]:
        """Fix the output paths now, under names nobody has."""
        if wanted and reserve is not None and self._policy is OutputPolicy.RENAME:
            wanted = [reserve(id, path) for path in wanted]
        return [str(path) for path in wanted]

    def _digest(self, wanted: list[Path]) -> str:
        """Two calls are equal by what they want: a second name found for the same is no other."""
        return digest(self.task.name, self.params, str([str(path) for path in wanted]))

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
    """Raise if this is more than what is decided and stored as a whole."""
    what, advice = "a submission", "submit it in several parts"
    if len(submissions) > MOST_JOBS:
        raise TooLarge(what, len(submissions), MOST_JOBS, unit="jobs", advice=advice)
    texts = [text for job in submissions for text in (job.params, job.meta, job.options)]
    if sum(map(len, texts)) * 4 > LARGEST_SUBMISSION:  # a character has four bytes at most
        size = sum(len(text.encode()) for text in texts)
        if size > LARGEST_SUBMISSION:
            raise TooLarge(what, size, LARGEST_SUBMISSION, advice=advice)


def require_call(given: object) -> Call[Any]:
    """Return a call, or say how to make one of what was given in its place."""
    if isinstance(given, Call):
        return given
    if inspect.iscoroutine(given):
        given.close()  # it will never be awaited, which Python would warn about
    name = given.name if isinstance(given, Task) else "task"
    raise UsageError(f"a call is needed, got {repr(given)[:200]}; pass {name}.call(…)")


def _filled(templates: Sequence[Template], values: Mapping[str, Any]) -> tuple[str, ...]:
    if not templates:
        return ()
    return tuple(filled for template in templates if (filled := fill(template, values)))


def _ids(jobs: Sequence[Any]) -> tuple[JobId, ...]:
    ids = tuple(JobId(getattr(job, "id", job)) for job in jobs) if jobs else ()
    for id in ids:
        check_text("id of a job", id)
    return ids


def _own_id(id: str) -> JobId:
    if not _ID.fullmatch(id):
        raise BadSetting(
            f"the id {id[:120]!r} cannot be used; take up to 100 letters, digits, or any of _ . : -"
        )
    return JobId(id)


def _instant(run_at: datetime) -> float:
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
    """A registered function. Calling it directly runs it here and now, without the queue."""

    def __init__(
        self, submissions: "Submissions", definition: Definition, policies: Policies
    ) -> None:
        self._submissions = submissions
        self.definition = definition
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

    def terms(self, limits: tuple[str, ...], requires: tuple[str, ...], run_anyway: bool) -> Terms:
        """Return what the scheduler is asked for; most jobs of a task ask for the same."""
        wanted = (limits, requires, run_anyway)
        if self._last_terms is None or self._last_terms[0] != wanted:
            policies = self.policies
            self._last_terms = (
                wanted,
                Terms(
                    limits=limits,
                    uses=tuple(sorted(policies.uses.items())),
                    requires=requires,
                    retry=policies.retry,
                    recover=policies.recover,
                    hold_lane=policies.hold_lane,
                    run_anyway=run_anyway,
                ),
            )
        return self._last_terms[1]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.definition.function(*args, **kwargs)

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Check parameters and return a call to submit or schedule later."""
        values = self.definition.parameters.validate(args, kwargs)
        return Call(self, values, _NO_CHOICES)

    async def submit(self, /, *args: P.args, **kwargs: P.kwargs) -> "Job[R]":
        """Submit a job; once this returns it is on disk."""
        return await self._submissions.submit(self.call(*args, **kwargs))

    def options(self, **options: Unpack[Choices]) -> "Configured[P, R]":
        """Choose priority, run_at, depends_on, kind, meta, queue, lane or dedupe for this once."""
        values: dict[str, Any] = {**options}
        priority = values.get("priority")
        if isinstance(priority, str) and priority.upper() in Priority.__members__:
            values["priority"] = Priority[priority.upper()]
        chosen = settings_as(
            Options, values, owner=f'a submission of "{self.name}"', strict=False,
            called="options of a submission", expected=EXPECTED,
        )  # fmt: skip
        return Configured(self._submissions, self, chosen)


class Configured(Generic[P, R]):
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

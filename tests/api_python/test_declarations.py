"""Declarations are checked where they are made, with an error that names the remedy."""

from collections.abc import Callable
from typing import Any

import pytest

from fairlane import BadSetting, Context, Fairlane, NotStarted, Retry, SyncContext, UsageError
from fairlane.testing import running


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"retry": 3}, r'retry of task "work" is 3; it must be a Retry, e.g. Retry\(times=3\)'),
        ({"retry": True}, "it must be a Retry"),
        ({"recover": -1}, "it must be a whole number, 0 or more"),
        ({"recover": True}, "it must be a whole number"),
        ({"hold_lane": 1}, "it must be True or False"),
        ({"uses": {"gpu": 0}}, "a dict of whole numbers"),
        ({"uses": ["gpu"]}, "a dict of whole numbers"),
        ({"limits": "site"}, r'it must be a list, e.g. limits=\["site"\]'),
        ({"limits": [5]}, "an item of limits .* is 5; it must be text or a function"),
        ({"requires": "gpu"}, "it must be a list"),
        ({"stages": "saving"}, "it must be a list"),
        ({"stages": [len]}, "it must be text"),
        ({"outputs": "{to}"}, "it must be a list"),
        ({"preconditions": ["{to}"]}, "it must be a function"),
        ({"lane": "{too}"}, r'no parameter "too"; did you mean "to"\? \(parameters: \{to\}, '),
        ({"dedupe": "{too.name}"}, 'no parameter "too"'),
        ({"bucket": "{to:{wdth}}"}, 'no parameter "wdth"; did you mean "width"'),
        ({"outputs": ["{}"]}, 'no parameter ""'),
        ({"limits": ["site:{host}"]}, 'no parameter "host"'),
        ({"lane": "{"}, "which is no template"),
        ({"lane": 5}, "it must be a template"),
        ({"lane": ""}, "it must be a template"),
        ({"lane": "to"}, r'did you mean "\{to\}"\?'),
        ({"dedupe": "to"}, r'did you mean "\{to\}"\?'),
        ({"timeout_seconds": "60"}, "it must be a number above zero, or None"),
        ({"stall_seconds": True}, "it must be a number above zero, or None"),
        ({"timeout_seconds": float("inf")}, "it must be a number above zero, or None"),
        ({"grace_seconds": None}, "it must be a number, 0 or more"),
        ({"queue": ""}, "it must be the name of a queue"),
        ({"queue": None}, "it must be the name of a queue"),
        ({"name": 5}, "the name of a task is 5"),
        ({"retries": 3}, r'no option "retries"; did you mean "retry"\? \(options: name, '),
    ],
)
def test_a_task_option_that_cannot_work_is_refused_at_decoration(
    app: Fairlane, options: dict[str, Any], problem: str
) -> None:
    def work(to: str, width: int = 3) -> None: ...

    with pytest.raises(BadSetting, match=problem):
        app.task(**options)(work)
    assert app.tasks == {}


def test_options_count_as_well_where_the_function_is_given_with_them(app: Fairlane) -> None:
    async def work(to: str) -> None: ...

    task = app.task(work, lane="{to}")  # type: ignore[call-overload]

    assert task.call("ann").submission().lane == "ann"


@pytest.mark.parametrize(
    "values",
    [
        {"times": "3"},
        {"times": True},
        {"times": -1},
        {"first_seconds": None},
        {"factor": 0.5},
        {"cap_seconds": float("nan")},
        {"on": "timeout"},
        {"jitter": -0.1},
        {"jitter": float("inf")},
    ],
)
def test_a_retry_that_makes_no_sense_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match=f"{next(iter(values))} of a Retry is .* it must be"):
        Retry(**values)


def test_a_retry_takes_a_list_of_names() -> None:
    assert Retry(on=["timeout"]) == Retry(on=("timeout",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("declare", "problem"),
    [
        (lambda app: app.limit("site", starts="3", per_seconds=1), "starts of limit .* is '3'"),
        (lambda app: app.limit("site", starts=True, per_seconds=1), "a whole number, 0 or more"),
        (lambda app: app.limit("site", starts=-1, per_seconds=1), "a whole number, 0 or more"),
        (lambda app: app.limit("site", starts=1, per_seconds=0), "must be above zero"),
        (lambda app: app.limit("site", starts=1, per_seconds=float("inf")), "above zero"),
        (lambda app: app.limit("", starts=1, per_seconds=1), "the name of a limit is ''"),
        (lambda app: app.resource("gpu", 1.5), 'amount of resource "gpu" is 1.5'),
        (lambda app: app.resource(None, 1), "the name of a resource is None"),
        (lambda app: app.queue(""), "the name of a queue is ''"),
        (lambda app: app.queue("a", max_concurent=3), 'did you mean "max_concurrent"'),
        (lambda app: app.queue("a", max_concurrent=True), "a whole number of 0 or more, or None"),
        (lambda app: app.queue("a", order="lifo"), "one of 'fifo', 'strict', 'round_robin'"),
        (lambda app: app.queue("a", devices="yes"), "it must be True or False"),
        (lambda app: app.queue("a", starvation_seconds=float("inf")), "a number above zero"),
        (lambda app: app.on_end("print"), "on_end takes a function"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused_in_plain_words(
    app: Fairlane, declare: Callable[[Any], None], problem: str
) -> None:
    with pytest.raises(BadSetting, match=problem) as refused:
        declare(app)
    assert "$" not in str(refused.value)


async def test_a_declaration_is_refused_while_the_engine_runs_and_allowed_between_two_runs(
    app: Fairlane,
) -> None:
    @app.task
    async def work() -> None: ...
    async def other() -> None: ...

    declarations: list[Callable[[], object]] = [
        lambda: app.task(other),
        lambda: app.queue("late"),
        lambda: app.limit("late", starts=1, per_seconds=1),
        lambda: app.resource("late", 1),
        lambda: app.schedule("late", work.call(), every_seconds=60),
        lambda: app.on_end(print),
    ]
    async with running(app):
        for declare in declarations:
            with pytest.raises(UsageError, match="declare it before the engine starts"):
                declare()
    for declare in declarations:
        declare()
    async with running(app):
        assert "late" in await app.schedules.list()


def test_a_context_in_the_wrong_place_or_of_the_wrong_kind_is_refused(app: Fairlane) -> None:
    async def renamed(context: Context) -> None: ...
    async def second(name: str, ctx: Context) -> None: ...
    def bare(name, ctx) -> None: ...  # type: ignore[no-untyped-def]
    async def waits(ctx: SyncContext) -> None: ...
    def plain(ctx: Context) -> None: ...
    def method(self, name: str) -> None: ...  # type: ignore[no-untyped-def]

    for function, problem in (
        (renamed, r"must come first and be called ctx: write async def renamed\(ctx: Context, …\)"),
        (second, 'parameter 2, "ctx"; it must come first'),
        (bare, 'parameter 2, "ctx"; it must come first'),
        (waits, r"an async function .* SyncContext; write async def waits\(ctx: Context"),
        (plain, r"a plain function .* Context; write def plain\(ctx: SyncContext"),
        (method, "takes self, so it is a method"),
    ):
        with pytest.raises(BadSetting, match=problem):
            app.task(function)


async def test_a_value_that_is_not_a_call_is_refused_with_the_way_to_make_one(
    app: Fairlane,
) -> None:
    @app.task
    async def work(name: str) -> None: ...

    wrong: Any = work
    async with running(app):
        with pytest.raises(UsageError, match=r"pass work\.call\(…\)"):
            await app.submit(wrong)
        with pytest.raises(UsageError, match=r"coroutine.*pass task\.call\(…\)"):
            await app.submit(wrong("ann"))
        with pytest.raises(UsageError, match="takes a list of calls"):
            await app.submit_many(work.call("ann"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"pass work\.call\(…\)"):
        app.schedule("nightly", wrong, cron="0 3 * * *")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"at": "tomorrow"}, "at of schedule \"nightly\" is 'tomorrow'; it must be a datetime"),
        ({"every_seconds": 60, "grace_seconds": "1"}, "it must be 0 or more"),
        ({"every_seconds": 60, "overlap": "wait"}, "choose one of skip, queue, cancel"),
    ],
)
def test_a_schedule_that_cannot_work_is_refused(
    app: Fairlane, options: dict[str, Any], problem: str
) -> None:
    @app.task
    async def work() -> None: ...

    with pytest.raises(BadSetting, match=problem):
        app.schedule("nightly", work.call(), **options)


def test_an_app_a_task_and_a_call_have_a_readable_repr(app: Fairlane) -> None:
    @app.task(name="archive")
    async def work(handle: str) -> None: ...

    assert repr(app) == "<Fairlane memory://, 1 tasks, not started>"
    assert repr(work) == '<Task "archive" of queue "default">'
    assert repr(work.call("nasa")) == "<Call archive(handle='nasa')>"
    assert work.__name__ == "work"


def test_a_plain_program_runs_the_engine_in_a_block() -> None:
    app = Fairlane("memory://", stop_grace_seconds=0)

    @app.task
    def double(number: int) -> int:
        return number * 2

    for _ in range(2):
        with app:
            assert app.sync.submit(double.call(21)).wait() == 42
            with pytest.raises(UsageError, match="enter it only once"), app:
                pass
        with pytest.raises(NotStarted):
            app.sync.snapshot()

"""Numbers that no clock, timer or database can hold are refused in plain words."""

from collections.abc import Callable
from typing import Any

import pytest

from fairlane import BadSetting, Context, Fairlane, JobFailed, Retry, SyncContext
from fairlane.core.retry import LARGEST_FACTOR
from fairlane.core.validation import LONGEST_SECONDS
from fairlane.testing import running

BEYOND_COUNTS = [pytest.param(10**400, id="10**400"), pytest.param(10**5000, id="10**5000")]
TOO_LARGE = [1e18, 1e300, float("inf"), float("nan"), *BEYOND_COUNTS]

Use = Callable[[Fairlane, Any], object]


def nothing() -> None: ...


def task(option: str) -> Use:
    """Return the declaration of a task with a value of this option."""
    return lambda app, value: app.task(**{option: value})(nothing)


SECONDS: dict[str, Use] = {
    "first_seconds of a Retry": lambda app, value: Retry(first_seconds=value),
    "cap_seconds of a Retry": lambda app, value: Retry(cap_seconds=value),
    "jitter of a Retry": lambda app, value: Retry(jitter=value),
    "factor of a Retry": lambda app, value: Retry(factor=value),
    "timeout_seconds of task": task("timeout_seconds"),
    "deadline_seconds of task": task("deadline_seconds"),
    "stall_seconds of task": task("stall_seconds"),
    "grace_seconds of task": task("grace_seconds"),
    "retry_seconds of a hook": lambda app, value: app.on_end(print, retry_seconds=value),
    "stop_grace_seconds": lambda app, value: Fairlane("memory://", stop_grace_seconds=value),
    "recheck_seconds": lambda app, value: Fairlane("memory://", recheck_seconds=value),
    "per_seconds of limit": lambda app, value: app.limit("site", starts=1, per_seconds=value),
    "starvation_seconds of queue": lambda app, value: app.queue("q", starvation_seconds=value),
    "grace_seconds of schedule": lambda app, value: app.schedule(
        "nightly", app.task(nothing).call(), every_seconds=60, grace_seconds=value
    ),
    "every_seconds": lambda app, value: app.schedule(
        "nightly", app.task(nothing).call(), every_seconds=value
    ),
}
COUNTS: dict[str, Use] = {
    "times of a Retry": lambda app, value: Retry(times=value),
    "recover of task": task("recover"),
    "uses of task": lambda app, value: app.task(uses={"gpu": value})(nothing),
    "starts of limit": lambda app, value: app.limit("site", starts=value, per_seconds=1),
    "amount of resource": lambda app, value: app.resource("gpu", value),
    "max_concurrent of queue": lambda app, value: app.queue("q", max_concurrent=value),
    "starvation_picks of queue": lambda app, value: app.queue("q", starvation_picks=value),
    "slots": lambda app, value: Fairlane("memory://", slots=value),
    "keep_history": lambda app, value: Fairlane("memory://", keep_history=value),
    "largest_upload": lambda app, value: Fairlane(
        "memory://", uploads="files", largest_upload=value
    ),
}


@pytest.fixture
def plain() -> Fairlane:
    return Fairlane("memory://")


@pytest.mark.parametrize("value", TOO_LARGE)
@pytest.mark.parametrize("option", SECONDS)
def test_a_time_beyond_all_timers_is_refused(plain: Fairlane, option: str, value: Any) -> None:
    with pytest.raises(BadSetting, match=f"{option}.* must be") as refusal:
        SECONDS[option](plain, value)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize("value", BEYOND_COUNTS)
@pytest.mark.parametrize("option", COUNTS)
def test_a_count_beyond_all_databases_is_refused(plain: Fairlane, option: str, value: Any) -> None:
    with pytest.raises(BadSetting, match=f"{option}.* must be") as refusal:
        COUNTS[option](plain, value)
    assert len(str(refusal.value)) < 400


def test_a_backoff_with_jitter_is_a_time_that_a_timer_can_wait() -> None:
    retry = Retry(
        first_seconds=LONGEST_SECONDS, cap_seconds=LONGEST_SECONDS, factor=LARGEST_FACTOR,
        jitter=LARGEST_FACTOR,
    )  # fmt: skip
    assert retry.wait_seconds(1000, key="job") == LONGEST_SECONDS


@pytest.mark.parametrize("value", [*BEYOND_COUNTS, float("nan"), "1"])
async def test_a_wait_without_a_sensible_time_is_refused(plain: Fairlane, value: Any) -> None:
    work = plain.task(nothing)
    async with running(plain):
        job = await work.submit()
        with pytest.raises(BadSetting, match=r"timeout_seconds of wait is .* it must be a number"):
            await job.wait(timeout_seconds=value)
        await job.wait(timeout_seconds=1e18)


@pytest.mark.parametrize("value", BEYOND_COUNTS)
async def test_a_stage_that_uses_more_than_all_databases_can_count_fails(
    plain: Fairlane, value: int
) -> None:
    plain.resource("gpu", 1)

    @plain.task
    def work(ctx: SyncContext) -> None:
        ctx.stage("asr").run(len, "", uses={"gpu": value})

    async with running(plain):
        with pytest.raises(JobFailed, match=r'uses .* of "gpu"; it must be a whole number'):
            await (await work.submit()).wait()


@pytest.mark.parametrize("value", TOO_LARGE)
async def test_a_program_with_a_grace_beyond_all_timers_is_refused(
    plain: Fairlane, value: Any
) -> None:
    @plain.task
    async def work(ctx: Context) -> None:
        await ctx.run(["true"], grace_seconds=value)

    async with running(plain):
        with pytest.raises(JobFailed, match=r"grace_seconds of a program .* must be a number"):
            await (await work.submit()).wait()

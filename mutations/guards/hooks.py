"""Guards of hooks: each end is above the cursor, delivered, or stored to be repeated."""

from typing import Final

from mutations.mutation import Mutation, suite

_DELIVERY: Final = "src/fairlane/leader/hook_delivery.py"
_TESTS: Final = "tests/leader/test_end_hooks.py"
_CRASHES: Final = (
    f"{_TESTS}::test_a_hook_is_called_for_each_end_wherever_its_progress_could_not_be_stored"
)

HOOKS: Final = (
    Mutation(
        name="cursor of a hook below its open calls",
        guards="The cursor of a hook does not pass an end whose first call has not returned.",
        file=_DELIVERY,
        find="cursor = next(iter(self._open)) - 1 if self._open else self._read_up_to",
        replace="cursor = self._read_up_to",
        noticed_by=(suite(_CRASHES),),
    ),
    Mutation(
        name="failed calls of hooks stored",
        guards="A failed call is stored before the cursor passes it.",
        file=_DELIVERY,
        find="        self._unsaved[notice.record_name] = notice.encode()",
        replace="        pass",
        noticed_by=(suite(_CRASHES),),
    ),
    Mutation(
        name="webhooks follow no redirect",
        guards="A redirect is followed without the body, so its answer is no acceptance.",
        file="src/fairlane/leader/webhook.py",
        find="build_opener(_NoRedirects)",
        replace="build_opener()",
        noticed_by=(
            suite(
                f"{_TESTS}::test_a_webhook_is_repeated_with_exponential_backoff_until_it_is_accepted"
            ),
        ),
    ),
    Mutation(
        name="the end that happened",
        guards="A call for a job that was retried by hand describes its end and not its present.",
        file=_DELIVERY,
        find="await self._call_hook(notice, view_of_end(notice, view), thread)",
        replace="await self._call_hook(notice, view, thread)",
        noticed_by=(
            suite(
                f"{_TESTS}::test_a_repeated_call_describes_the_end_that_happened_after_a_retry_by_hand"
            ),
        ),
    ),
    Mutation(
        name="a key for each end",
        guards="Two ends of one job have different idempotency keys.",
        file="src/fairlane/leader/notice.py",
        find='return f"{self.job}-{self.state}-{self.seq}"',
        replace='return f"{self.job}-{self.state}"',
        noticed_by=(suite(f"{_TESTS}::test_each_end_of_a_job_has_its_own_idempotency_key"),),
    ),
)

"""Guards of stages: waiting is not stalling, and a fallback has what its stage uses."""

from typing import Final

from mutations.mutation import Mutation, suite, worlds

STAGES: Final = (
    Mutation(
        name="waiting is not stalling",
        guards="The time in which a stage waits for a limit or resource is no lack of progress.",
        file="src/fairlane/worker/attempt_link.py",
        find="return self._time() if self.is_waiting else self._active_at",
        replace="return self._active_at",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="a backoff is not stalling",
        guards="The backoff of a stage is no lack of progress.",
        file="src/fairlane/task/stage_runner.py",
        find="""                    await self._operations.sleep(wait)
""",
        replace="""                    self._link.mark_waiting(self.name, waits=False)
                    await self._operations.sleep(wait)
""",
        noticed_by=(suite("tests/worker/test_stage_waits.py"),),
    ),
    Mutation(
        name="resources held until the stage has ended",
        guards="A fallback runs with the resources of its stage.",
        file="src/fairlane/task/stage_runner.py",
        find="stage.uses if fallback.uses is None else",
        replace="() if fallback.uses is None else",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="resources given back before others",
        guards="A stage gives its resources back before it waits for those of a fallback.",
        file="src/fairlane/task/stage_runner.py",
        find="        if step.uses != self._held:\n            self._leave()\n",
        replace="",
        noticed_by=(suite("tests/task/test_fallbacks.py"),),
    ),
    Mutation(
        name="the reason of a wait ends with the attempt",
        guards="A job that returns to its queue does not show what its stage waited for.",
        file="src/fairlane/core/worker_reports.py",
        find="    job.reason = None  # why the attempt",
        replace="    # why the attempt",
        noticed_by=(suite("tests/core/test_stages.py"),),
    ),
    Mutation(
        name="the reason of a wait ends with the wait",
        guards="A stage that was granted what it waited for is no reason any more.",
        file="src/fairlane/core/capacity.py",
        find="    if job.reason is not None:\n        update_reason(board, job)\n",
        replace="",
        noticed_by=(suite("tests/core/test_stages.py"),),
    ),
    Mutation(
        name="blocking code awaited after its time-out",
        guards="A job holds its lane and slot until its blocking code has returned.",
        file="src/fairlane/worker/attempt.py",
        find="            await self._context.await_leftovers()\n",
        replace="",
        noticed_by=(suite("tests/worker/test_stage_timeouts.py"),),
    ),
    Mutation(
        name="resources left to blocking code",
        guards="Blocking code holds the resources of its stage until it returns.",
        file="src/fairlane/task/stage_runner.py",
        find="                self._hand_over(late.leftover, message)\n",
        replace="                self._leftovers.append(late.leftover)\n",
        noticed_by=(suite("tests/worker/test_stage_timeouts.py"),),
    ),
    Mutation(
        name="blocking code killed with its child process",
        guards="A child process with blocking code past its time-out is killed, not used again.",
        file="src/fairlane/worker/child_attempt.py",
        find="                    if is_last and message.has_leftovers:\n",
        replace="                    if False:\n",
        noticed_by=(suite("tests/worker/test_stage_timeouts.py"),),
    ),
    Mutation(
        name="no attempt after the deadline",
        guards="A job is not retried when its next attempt would begin after its deadline.",
        file="src/fairlane/core/worker_reports.py",
        find="if job.deadline_at is not None and due_at >= job.deadline_at:",
        replace="if False:",
        noticed_by=(suite("tests/core/test_deadline.py"),),
    ),
    Mutation(
        name="the deadline counts from the first start",
        guards="Later attempts do not move the deadline of a job.",
        file="src/fairlane/core/picking.py",
        find="if job.deadline_at is None and job.terms.deadline_seconds is not None:",
        replace="if job.terms.deadline_seconds is not None:",
        noticed_by=(suite("tests/core/test_deadline.py"),),
    ),
    Mutation(
        name="deadlines that move with the clock",
        guards="The deadline of a waiting job moves with a clock that is set back.",
        file="src/fairlane/core/scheduler.py",
        find=" or job.deadline_at is not None:\n                _set_back",
        replace=":\n                _set_back",
        noticed_by=(suite("tests/core/test_deadline.py"),),
    ),
    Mutation(
        name="no wait beyond the deadline",
        guards="A job that waits between two attempts fails at its deadline.",
        file="src/fairlane/core/scheduler.py",
        find="        self._fail_overdue()\n",
        replace="",
        noticed_by=(suite("tests/core/test_deadline.py"),),
    ),
)

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
        find="""                with self._waiting():
                    await self._operations.sleep(wait)
""",
        replace="                await self._operations.sleep(wait)\n",
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
)

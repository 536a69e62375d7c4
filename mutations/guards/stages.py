"""Guards of stages: waiting is not stalling."""

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
        file="src/fairlane/task/stages.py",
        find="""                with self._waiting():
                    await self._operations.sleep(wait)
""",
        replace="                await self._operations.sleep(wait)\n",
        noticed_by=(suite("tests/worker/test_stage_waits.py"),),
    ),
)

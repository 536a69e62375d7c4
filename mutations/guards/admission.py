"""Guards of admission: ids, dedupe keys, lanes, dependencies and firings."""

from typing import Final

from mutations.mutation import Mutation, suite, worlds

_ADMISSION: Final = "src/fairlane/core/admission.py"
_TRANSITIONS: Final = "src/fairlane/core/state_changes.py"

ADMISSION: Final = (
    Mutation(
        name="ids sent twice",
        guards="A submission that is sent again with the same ids changes nothing.",
        file=_ADMISSION,
        find="if id == submission.id and id not in board.jobs and id not in ended:",
        replace="if id == submission.id:",
        noticed_by=(suite("tests/core/test_conflicts.py"),),
    ),
    Mutation(
        name="ids of jobs that have ended",
        guards="A submission that is sent again after its job has ended does not run it again.",
        file="src/fairlane/core/scheduler.py",
        find="if resent or item.sent_before:",
        replace="if False:",
        noticed_by=(suite("tests/engine/test_guards.py"),),
    ),
    Mutation(
        name="dedupe keys checked",
        guards="A dedupe key has one live job; a refusal names the id of that job.",
        file=_ADMISSION,
        find="if dedupe is not None and holder is not None:",
        replace="if False:",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="dedupe keys freed",
        guards="A key is free again once its job has ended: no refusal without a live holder.",
        file=_TRANSITIONS,
        find="del board.dedupe[job.dedupe]",
        replace="pass",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="lanes that take one job",
        guards="A lane that rejects conflicts admits no job while it has a live one.",
        file=_ADMISSION,
        find='if policy in ("merge", "reject") or (',
        replace="if (",
        noticed_by=(suite("tests/core/test_conflicts.py"),),
    ),
    Mutation(
        name="dependencies that failed",
        guards="A job does not run when one of its dependencies did not complete.",
        file=_TRANSITIONS,
        find="if ended.state is not State.COMPLETED and not job.terms.run_anyway:",
        replace="if False:",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="dependencies all waited for",
        guards="A job waits for all of its dependencies, not only for the first.",
        file=_TRANSITIONS,
        find="            elif not waits:\n",
        replace="            elif True:\n",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="dependencies across restarts",
        guards="Dependencies are stored with a job, so a restart does not start it early.",
        file=_ADMISSION,
        find="board.changes.dependencies += [(job.id, id) for id in waits]",
        replace="pass",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="dependents of a retried job",
        guards="A cancelled dependent can be retried once its retried dependency has completed.",
        file=_TRANSITIONS,
        find="board.dependents.setdefault(ended.id, []).append(id)",
        replace="pass",
        noticed_by=(suite("tests/core/test_dependencies.py"),),
    ),
    Mutation(
        name="cycles of dependencies",
        guards="Jobs that wait for each other are refused, because none could ever run.",
        file=_ADMISSION,
        find="    if waits:\n        shown",
        replace="    if False:\n        shown",
        noticed_by=(suite("tests/core/test_dependencies.py"),),
    ),
    Mutation(
        name="firings known across restarts",
        guards="The last fired time of a schedule is stored in the commit of the firing.",
        file=_ADMISSION,
        find='board.changes.records["fired", name] = repr(fire_at)',
        replace="pass",
        noticed_by=(suite("tests/core/test_schedule_firing.py"),),
    ),
    Mutation(
        name="firings decided once",
        guards="A time that has fired does not fire again.",
        file=_ADMISSION,
        find='if board.fired_at.get(name, float("-inf")) >= fire_at:',
        replace="if False:",
        noticed_by=(suite("tests/core/test_schedule_firing.py"),),
    ),
)

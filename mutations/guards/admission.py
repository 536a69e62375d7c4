"""What is let in once is let in once, and what was promised to it is kept."""

from typing import Final

from mutations.mutation import Mutation, suite, worlds

_ADMISSION: Final = "src/fairlane/core/admission.py"
_TRANSITIONS: Final = "src/fairlane/core/transitions.py"

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
        guards="Of one dedupe key there is one live job, and a second is told whose it is.",
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
        guards="A lane that rejects conflicts takes nobody while it has a live job.",
        file=_ADMISSION,
        find='if policy in ("merge", "reject") or (',
        replace="if (",
        noticed_by=(suite("tests/core/test_conflicts.py"),),
    ),
    Mutation(
        name="dependencies that failed",
        guards="A job does not run when something that it depends on did not complete.",
        file=_TRANSITIONS,
        find="if ended.state is not State.COMPLETED and not job.terms.run_anyway:",
        replace="if False:",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="dependencies all waited for",
        guards="A job waits for everything that it depends on, not only for the first.",
        file=_TRANSITIONS,
        find="            elif not waits:\n",
        replace="            elif True:\n",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="dependencies across restarts",
        guards="What a job waits for is stored with it, so a restart does not let it go early.",
        file=_ADMISSION,
        find="board.changes.dependencies.append((job.id, id))",
        replace="pass",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="circles of dependencies",
        guards="Jobs that wait for each other are refused, because none could ever run.",
        file=_ADMISSION,
        find="    if waits:\n        shown",
        replace="    if False:\n        shown",
        noticed_by=(suite("tests/core/test_dependencies.py"),),
    ),
    Mutation(
        name="firings known across restarts",
        guards="Which time a schedule fired last is stored in the commit of the firing.",
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

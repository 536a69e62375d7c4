"""Guards against stale messages of earlier assignments."""

from typing import Final

from mutations.mutation import Mutation, suite

_OUTCOMES: Final = "src/fairlane/core/worker_reports.py"

FENCES: Final = (
    Mutation(
        name="fence of worker reports",
        guards="A report of an earlier assignment of a job must not end the current one.",
        file=_OUTCOMES,
        find="found.worker == worker and found.fence == fence else None",
        replace="found.worker == worker else None",
        noticed_by=(suite("tests/simulation/test_guards_fences.py"),),
    ),
    Mutation(
        name="state of reported jobs",
        guards="An outcome received twice must not end a job that waits for its next attempt.",
        file=_OUTCOMES,
        find="if found is None or found.state is not State.RUNNING:",
        replace="if found is None:",
        noticed_by=(suite("tests/simulation/test_guards_fences.py"),),
    ),
    Mutation(
        name="fence of a precondition",
        guards="A precondition report of an earlier assignment is stale.",
        file=_OUTCOMES,
        find="job.state is State.BLOCKED and job.fence == unblocked.fence",
        replace="job.state is State.BLOCKED",
        noticed_by=(suite("tests/core/test_blocked.py"),),
    ),
    Mutation(
        name="fence of a report",
        guards="A report of an earlier attempt must not overwrite that of the present one.",
        file=_OUTCOMES,
        find="""    job = find_assigned(board, report.job, report.worker, report.fence)
    if job is None:
        return
    board.changes.reports""",
        replace="""    job = board.jobs.get(report.job)
    if job is None:
        return
    board.changes.reports""",
        noticed_by=(suite("tests/simulation/test_guards_fences.py"),),
    ),
    Mutation(
        name="fence of a stage's result",
        guards="An ended attempt must not store stage results for the following attempt.",
        file=_OUTCOMES,
        find="""    if find_assigned(board, value.job, value.worker, value.fence) is not None:
        board.changes.stored_values""",
        replace="""    if value.job in board.jobs:
        board.changes.stored_values""",
        noticed_by=(suite("tests/simulation/test_guards_fences.py"),),
    ),
    Mutation(
        name="fence of a stage's grant",
        guards="An ended attempt must not be granted the limits of its stage.",
        file=_OUTCOMES,
        find="""    if find_assigned(board, stage.job, stage.worker, stage.fence) is not None:
        grant_stage(board, stage)""",
        replace="""    if stage.job in board.jobs:
        grant_stage(board, stage)""",
        noticed_by=(suite("tests/simulation/test_guards_fences.py"),),
    ),
    Mutation(
        name="fence that grows",
        guards="Each assignment has a separate number, by which stale reports are recognised.",
        file="src/fairlane/core/picking.py",
        find="job.fence += 1",
        replace="job.fence = 1",
        noticed_by=(suite("tests/simulation/test_guards_fences.py"),),
    ),
    Mutation(
        name="fence of a stop",
        guards="A stop that is meant for one assignment must not reach the next one.",
        file="src/fairlane/worker/worker.py",
        find="attempt is not None and attempt.start.fence == stop.fence",
        replace="attempt is not None",
        noticed_by=(suite("tests/engine/test_guards.py"),),
    ),
)

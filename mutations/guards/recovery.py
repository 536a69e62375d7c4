"""Guards of recovery: the jobs of a dead worker run again, in order and not forever."""

from typing import Final

from mutations.mutation import Mutation, suite, worlds

_OUTCOMES: Final = "src/fairlane/core/worker_reports.py"

RECOVERY: Final = (
    Mutation(
        name="crashes counted",
        guards="A job that kills its worker each time must not do so for ever.",
        file=_OUTCOMES,
        find="job.crashes += 1",
        replace="job.crashes += 0",
        noticed_by=(suite("tests/core/test_recovery.py"),),
    ),
    Mutation(
        name="bound of crashes",
        guards="After as many crashes as its options allow, a job fails.",
        file=_OUTCOMES,
        find="job.crashes <= job.terms.recover",
        replace="job.crashes <= job.terms.recover + 1",
        noticed_by=(suite("tests/core/test_recovery.py"),),
    ),
    Mutation(
        name="lane held by an interrupted job",
        guards="A job whose worker died keeps its lane until it has run again.",
        file=_OUTCOMES,
        find="""    job.holds_lane = job.keeps_its_hold
    transition(board, job, State.INTERRUPTED""",
        replace="""    job.holds_lane = False
    transition(board, job, State.INTERRUPTED""",
        noticed_by=(suite("tests/core/test_recovery.py"),),
    ),
    Mutation(
        name="position of interrupted jobs",
        guards="A job that ran when its worker died goes first again.",
        file=_OUTCOMES,
        find="head = board.queues[job.queue].new_head()",
        replace="head = board.queues[job.queue].new_tail()",
        noticed_by=(suite("tests/core/test_recovery.py"),),
    ),
    Mutation(
        name="order among interrupted jobs",
        guards="Jobs that were interrupted together keep their order at the front.",
        file=_OUTCOMES,
        find="key=lambda job: job.position, reverse=True)",
        replace="key=lambda job: job.position)",
        noticed_by=(suite("tests/core/test_recovery.py"),),
    ),
    Mutation(
        name="refusals cost no attempt",
        guards="An assignment that never began is not counted as an attempt.",
        file=_OUTCOMES,
        find="""    job.attempt -= 1
    job.holds_lane""",
        replace="""    job.holds_lane""",
        noticed_by=(suite("tests/core/test_blocked.py", "tests/core/test_workers.py"),),
    ),
    Mutation(
        name="workers that are dead",
        guards="A leader that loads again must not count its own worker as dead.",
        file="src/fairlane/leader/leader.py",
        find="if not self._host.is_own(worker)}",
        replace="if worker}",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="assignments of a failed commit",
        guards="An assignment whose commit seemed to fail is withdrawn, or its job never ends.",
        file="src/fairlane/leader/local_assignments.py",
        find="if self._fences.get(job.id) != job.fence",
        replace="if False",
        noticed_by=(suite("tests/processes/test_commit_troubles.py"),),
    ),
    Mutation(
        name="assignments that are running",
        guards="An assignment that runs is not withdrawn when the leader loads again.",
        file="src/fairlane/leader/local_assignments.py",
        find="            self._fences[start.job] = start.fence\n",
        replace="            pass\n",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="no second try without the key",
        guards="A process that cannot decrypt the secrets of a job does not get the job again.",
        file="src/fairlane/core/workers.py",
        find="            and not (refused_by and carrier_of(self.id) in refused_by)\n",
        replace="",
        noticed_by=(suite("tests/core/test_unreadable_secrets.py"),),
    ),
    Mutation(
        name="another process may have the key",
        guards="A job whose secrets one process cannot decrypt runs in a process that can.",
        file="src/fairlane/core/worker_reports.py",
        find="if board.workers.has_one_for(*needs, device=queue.settings.devices):",
        replace="if False:",
        noticed_by=(suite("tests/core/test_unreadable_secrets.py"),),
    ),
)

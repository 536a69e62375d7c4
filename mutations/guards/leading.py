"""Guards of the leader: decide, commit, then act; and recovery when a commit fails."""

from typing import Final

from mutations.mutation import Mutation, suite, worlds

_LEADER: Final = "src/fairlane/leader/leader.py"
_PIPELINE: Final = "src/fairlane/leader/commit_pipeline.py"
_RECOVERY: Final = "src/fairlane/leader/batch_recovery.py"

LEADING: Final = (
    Mutation(
        name="answers after the commit",
        guards="No client is answered that a job was accepted before it is durable.",
        file=_LEADER,
        find="            await commit.writing\n",
        replace="            told = Decisions(answers=decisions.answers)\n"
        "            self._notifications.report_commit(told, {}, commit.message)\n"
        "            await commit.writing\n",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="acts after the commit",
        guards="A commit that failed is not acted on.",
        file=_LEADER,
        find="            await commit.writing\n",
        replace="            try:\n                await commit.writing\n"
        "            except StoreUnavailable:\n                pass\n",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="one commit after the other",
        guards="A commit is sent off when the one before it is known to have succeeded.",
        file=_PIPELINE,
        find="        await self.wait()\n        self._writing =",
        replace="        self._writing =",
        noticed_by=(suite("tests/leader/test_commit_pipeline.py"),),
    ),
    Mutation(
        name="decisions on top of a failed commit",
        guards="When a commit fails, decisions that were made on top of it are discarded.",
        file=_PIPELINE,
        find="for batch in batches for input in batch.inputs",
        replace="for batch in batches[:1] for input in batch.inputs",
        noticed_by=(suite("tests/leader/test_commit_pipeline.py"),),
    ),
    Mutation(
        name="rows that are being decided",
        guards="A row stays in the inbox until its commit has succeeded, and is decided once.",
        file="src/fairlane/leader/inbox_poller.py",
        find="if row.id not in self._undurable]",
        replace="if row.id]",
        noticed_by=(suite("tests/leader/test_commit_pipeline.py"),),
    ),
    Mutation(
        name="questions between commits",
        guards="The database is queried for a job only after the commit that may end it.",
        file=_LEADER,
        find="            await self._pipeline.wait()  # it may hold their ends\n",
        replace="",
        noticed_by=(suite("tests/leader/test_commit_pipeline.py"),),
    ),
    Mutation(
        name="loading again after a commit that failed",
        guards="The result of a failed commit is unknown, so memory is loaded again.",
        file=_RECOVERY,
        find="        await self._load()\n        self._resend_unacknowledged()",
        replace="        self._resend_unacknowledged()",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="loading again before a batch is replayed",
        guards="A batch that failed half-way changed memory; it is replayed on the stored state.",
        file=_RECOVERY,
        find="        await self._load()\n        while single:",
        replace="        while single:",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="worker reports requested again",
        guards="A worker repeats its unacknowledged reports to the next leader that loads.",
        file=_LEADER,
        find="*self._host.declare(self._records), *unacknowledged]",
        replace="*self._host.declare(self._records)]",
        noticed_by=(suite("tests/simulation/test_guards_leading.py"),),
    ),
    Mutation(
        name="waiting stages requested again",
        guards="A waiting stage is in memory only: it requests its limit again after a load.",
        file=_RECOVERY,
        find="""        await self._load()
        self._resend_unacknowledged()""",
        replace="""        await self._load()""",
        noticed_by=(suite("tests/processes/test_commit_troubles.py"),),
    ),
    Mutation(
        name="worker reports retried when they could not be stored",
        guards="A worker report is processed again when the database could not store it.",
        file=_RECOVERY,
        find="""        self.requeue(batch.inputs)
        await asyncio.sleep""",
        replace="""        await asyncio.sleep""",
        noticed_by=(suite("tests/simulation/test_guards_leading.py"),),
    ),
    Mutation(
        name="stops repeated",
        guards="A stop whose commit seemed to fail is repeated, or the job would run on.",
        file=_LEADER,
        find="self._notifications.report_reload(stops)",
        replace="self._notifications.report_reload([])",
        noticed_by=(suite("tests/simulation/test_guards_leading.py"),),
    ),
    Mutation(
        name="answers to other processes stored",
        guards="The answer to another process is stored with the decision, so it can be read.",
        file=_LEADER,
        find="changes.answers.update(",
        replace="dict.fromkeys(",
        noticed_by=(suite("tests/processes/test_standby.py"),),
    ),
    Mutation(
        name="standby without polling its inbox",
        guards="A standby must not spin because its inbox holds inputs for a leader.",
        file=_LEADER,
        find="await self._inbox.wait_for_wake(",
        replace="await self._inbox.wait(",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="leadership kept while a job still runs",
        guards="A leader that cannot stop a job does not let another process run it too.",
        file=_LEADER,
        find="if not (self._fleet.is_alone and self._host.is_running()):",
        replace="if True:",
        noticed_by=(suite("tests/engine/test_guards.py"),),
    ),
    Mutation(
        name="leadership kept while the store fails",
        guards="A leader that cannot commit does not let another process start its running jobs.",
        file=_LEADER,
        find="""log.warning("leadership interrupted: %s", error)
""",
        replace="""await self._store.resign()
""",
        noticed_by=(worlds(),),
    ),
)

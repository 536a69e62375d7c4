"""Take what happened, decide, make it durable, then act; and what follows when that fails."""

from typing import Final

from mutations.mutation import Mutation, suite, worlds

_LEADER: Final = "src/fairlane/leader/leader.py"
_PIPELINE: Final = "src/fairlane/leader/commit_pipeline.py"
_RECOVERY: Final = "src/fairlane/leader/recovery.py"

LEADING: Final = (
    Mutation(
        name="answers after the commit",
        guards="Nobody is told that a job was accepted before it is durable.",
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
        name="what was decided on top of a failed commit",
        guards="With a commit that failed, what was decided on top of it is void.",
        file=_PIPELINE,
        find="for batch in batches for input in batch.inputs",
        replace="for batch in batches[:1] for input in batch.inputs",
        noticed_by=(suite("tests/leader/test_commit_pipeline.py"),),
    ),
    Mutation(
        name="rows that are being decided",
        guards="A row stays in the table until its commit has landed, and is decided once.",
        file="src/fairlane/leader/inbox_poller.py",
        find="if row.id not in self._undurable]",
        replace="if row.id]",
        noticed_by=(suite("tests/leader/test_commit_pipeline.py"),),
    ),
    Mutation(
        name="questions between commits",
        guards="The database is asked about a job when the commit that may end it has landed.",
        file=_LEADER,
        find="            await self._pipeline.wait()  # it may hold their ends\n",
        replace="",
        noticed_by=(suite("tests/leader/test_commit_pipeline.py"),),
    ),
    Mutation(
        name="loading again after a commit that failed",
        guards="Nobody knows what a failed commit stored, so memory is built anew.",
        file=_RECOVERY,
        find="        await self._load()\n        self._resend_unacknowledged()",
        replace="        self._resend_unacknowledged()",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="loading again before a batch is replayed",
        guards="A batch that broke half-way has changed memory; it is replayed on what is stored.",
        file=_RECOVERY,
        find="        await self._load()\n        while single:",
        replace="        while single:",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="what workers said, asked for again",
        guards="What a worker has not heard to be durable is said again to whoever loads next.",
        file=_LEADER,
        find="*self._host.declare(self._records), *unacknowledged]",
        replace="*self._host.declare(self._records)]",
        noticed_by=(suite("tests/simulation/test_guards_leading.py"),),
    ),
    Mutation(
        name="stages that wait, asked for again",
        guards="A stage that waits for its limit is in memory only: it asks again after a load.",
        file=_RECOVERY,
        find="""        await self._load()
        self._resend_unacknowledged()""",
        replace="""        await self._load()""",
        noticed_by=(suite("tests/processes/test_commit_troubles.py"),),
    ),
    Mutation(
        name="what workers said, kept when it could not be stored",
        guards="A word of a worker is taken up again when the database could not take it.",
        file=_RECOVERY,
        find="""        self.requeue(batch.inputs)
        await asyncio.sleep""",
        replace="""        await asyncio.sleep""",
        noticed_by=(suite("tests/simulation/test_guards_leading.py"),),
    ),
    Mutation(
        name="stops told again",
        guards="A stop whose commit seemed to fail is repeated, or the job would run on.",
        file=_LEADER,
        find="self._notifications.report_reload(stops)",
        replace="self._notifications.report_reload([])",
        noticed_by=(suite("tests/simulation/test_guards_leading.py"),),
    ),
    Mutation(
        name="answers to others kept",
        guards="The answer to another process is stored with the decision, so it can be read.",
        file=_LEADER,
        find="changes.answers.update(",
        replace="dict.fromkeys(",
        noticed_by=(suite("tests/processes/test_standby.py"),),
    ),
    Mutation(
        name="standing by without looking at the inbox",
        guards="A standby must not spin because something lies in its inbox for a leader.",
        file=_LEADER,
        find="await self._inbox.stand_by(",
        replace="await self._inbox.wait(",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="claim kept while something still runs",
        guards="Who cannot stop a job does not let another process run it beside this one.",
        file=_LEADER,
        find="if not (self._fleet.is_alone and self._host.is_running()):",
        replace="if True:",
        noticed_by=(suite("tests/engine/test_guards.py"),),
    ),
    Mutation(
        name="claim kept in trouble",
        guards="A leader that cannot store does not let another take what it still runs.",
        file=_LEADER,
        find="""log.warning("leadership interrupted: %s", error)
""",
        replace="""await self._store.resign()
""",
        noticed_by=(worlds(),),
    ),
)

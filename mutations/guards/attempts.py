"""Guards of attempts: one at a time per job, and no lost outcome."""

from typing import Final

from mutations.mutation import Mutation, suite, worlds

_WORKER: Final = "src/fairlane/worker/worker.py"
_OUTCOMES: Final = "src/fairlane/core/worker_reports.py"
_PICKING: Final = "src/fairlane/core/picking.py"
_ISOLATION: Final = suite("tests/worker/test_isolation.py")
_SECRETS: Final = suite("tests/api_python/test_secrets_at_rest.py")

ATTEMPTS: Final = (
    Mutation(
        name="lane held by a running job",
        guards="While a job of a lane runs, no other of that lane may start.",
        file=_PICKING,
        find="lane.holder = job",
        replace="pass",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="lane held between attempts",
        guards="A job in backoff holds its lane: no other job reads a partial checkpoint.",
        file=_OUTCOMES,
        find="""    job.holds_lane = job.keeps_its_hold
    transition(
        board,
        job,
        State.RETRYING,""",
        replace="""    job.holds_lane = False
    transition(
        board,
        job,
        State.RETRYING,""",
        noticed_by=(suite("tests/core/test_lanes.py"),),
    ),
    Mutation(
        name="outcomes stored until they are durable",
        guards="A worker repeats an outcome until the commit that holds it has returned.",
        file=_WORKER,
        find="self.send_until_acknowledged(attempt.token, outcome)",
        replace="self.send(outcome)",
        noticed_by=(suite("tests/simulation/test_guards_leading.py"),),
    ),
    Mutation(
        name="messages of an earlier job in a child process",
        guards="A child process that is used again cannot write into the log of its next job.",
        file="src/fairlane/worker/child_attempt.py",
        find="if sent.run != run:",
        replace="if False:",
        noticed_by=(_ISOLATION,),
    ),
    Mutation(
        name="start of a child process is not a stall",
        guards="A job is expected to make progress from the start of its function on.",
        file="src/fairlane/worker/attempt.py",
        find='if self.definition.isolation != "process":',
        replace="if True:",
        noticed_by=(suite("tests/worker/test_timeouts.py"),),
    ),
    Mutation(
        name="order of the messages of a child process",
        guards="The log lines of a child process reach the worker before the result.",
        file="src/fairlane/worker/child_main.py",
        find="        link.post(answer)",
        replace="        self._connection.post(MessageOfRun(message.run, answer))",
        noticed_by=(_ISOLATION,),
    ),
    Mutation(
        name="stage results stored before they are used",
        guards="A stage result is durable before the task receives it, so it never runs again.",
        file=_WORKER,
        find="            await answer\n",
        replace="            await asyncio.sleep(0)\n",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="stage results read from the store",
        guards="A stage that has completed is not run again by the next attempt.",
        file="src/fairlane/task/stage_runner.py",
        find="if key in self._stored_values:",
        replace="if False:",
        noticed_by=(worlds(),),
    ),
    Mutation(
        name="refusals of a worker that stops",
        guards="A worker that is stopping begins nothing new.",
        file=_WORKER,
        find="return self.accepting and is_well",
        replace="return is_well",
        noticed_by=(suite("tests/engine/test_guards.py"),),
    ),
    Mutation(
        name="cancelled jobs that fail on their way out",
        guards="A job that was cancelled is not retried because stopping made it fail.",
        file=_OUTCOMES,
        find="""    if job.cancel_outputs is not None:
        _cancelled(board, job, error""",
        replace="""    if False:
        _cancelled(board, job, error""",
        noticed_by=(suite("tests/core/test_cancel.py"),),
    ),
    Mutation(
        name="cancelled jobs that are handed back",
        guards="A job that was cancelled does not start again when its worker hands it back.",
        file=_OUTCOMES,
        find="""    if job.cancel_outputs is not None:
        _cancelled(board, job)
    else:
        transition(board, job, State.QUEUED)""",
        replace="""    if False:
        _cancelled(board, job)
    else:
        transition(board, job, State.QUEUED)""",
        noticed_by=(suite("tests/core/test_cancel.py"),),
    ),
    Mutation(
        name="results of stopped attempts",
        guards="An attempt that was asked to stop counts as stopped, even if it returned a result.",
        file="src/fairlane/worker/attempt.py",
        find="if self.stop_reason is None or self._is_whole_anyway():",
        replace="if True:",
        noticed_by=(suite("tests/worker/test_cancelling.py", "tests/worker/test_timeouts.py"),),
    ),
    Mutation(
        name="a missing key of secrets blocks",
        guards="A job whose secrets cannot be decrypted waits for the right key and does not fail.",
        file="src/fairlane/worker/attempt.py",
        find="outcome = refused or await self._attempt()",
        replace="outcome = await self._attempt()",
        noticed_by=(_SECRETS,),
    ),
    Mutation(
        name="a missing key of secrets stays missing",
        guards="A job with the wrong key is not started again and again in the same process.",
        file="src/fairlane/worker/attempt.py",
        find='self._outcome("refused", blocked=locked)',
        replace="self._blocked(Obstacle(locked))",
        noticed_by=(_SECRETS,),
    ),
    Mutation(
        name="digests of secrets have a key",
        guards="A reader of the database cannot test guesses of a secret by its digest.",
        file="src/fairlane/tasks.py",
        find="cipher = parameters.cipher if parameters.secrets else None",
        replace="cipher = None",
        noticed_by=(_SECRETS,),
    ),
    Mutation(
        name="no secret in clear beside an encrypted one",
        guards="A process without the key stores no secret of a program that encrypts them.",
        file="src/fairlane/task/parameters.py",
        find="if self.needs_cipher and any(",
        replace="if False and any(",
        noticed_by=(_SECRETS,),
    ),
)

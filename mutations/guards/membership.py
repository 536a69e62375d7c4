"""Several processes on one database: leases, messages, and whom to believe alive."""

from typing import Final

from mutations.mutation import Mutation, suite, worlds

_RENEWAL: Final = "src/fairlane/cluster/lease_renewal.py"
_MAILBOX: Final = "src/fairlane/cluster/mailbox.py"
_LEASE_WATCH: Final = "src/fairlane/cluster/lease_watch.py"
_BEATS: Final = suite("tests/cluster/test_lease_renewal.py")
_SHARED: Final = worlds(seeds=60, store="shared")

MEMBERSHIP: Final = (
    Mutation(
        name="handing back before the lease ends",
        guards="A worker that cannot renew stops what it runs while nobody else may run it.",
        file=_RENEWAL,
        find="            self._callbacks.return_jobs()\n",
        replace="",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="the end of a process that cannot stop",
        guards="What does not stop before the lease ends takes its process with it.",
        file=_RENEWAL,
        find="if self._is_over(terms.end_seconds) and self._callbacks.is_running(self._worker):",
        replace="if False:",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="leases counted from before they are sent",
        guards="A renewal that took long to arrive does not lengthen the lease.",
        file=_RENEWAL,
        find="    def _hold(self, sent_at: float) -> None:\n        self.renewed_at = sent_at",
        replace="    def _hold(self, sent_at: float) -> None:\n"
        "        self.renewed_at = sent_at + self._terms.lease_seconds",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="stopping of whoever counts as dead",
        guards="What a worker still runs that counts as dead is stopped at once.",
        file=_RENEWAL,
        find="        self._callbacks.restart()\n",
        replace="",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="the lease of child processes",
        guards="A child process ends with the lease of its worker, also if that is frozen.",
        file=_RENEWAL,
        find="        self._callbacks.renew_deadline(sent_at + self._terms.end_seconds)",
        replace="        pass",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="patience with silent workers",
        guards="A worker is dead only when its lease is over for sure.",
        file=_LEASE_WATCH,
        find="elif now - before[1] > self._patience:",
        replace="elif now - before[1] > self._patience / 4:",
        noticed_by=(_SHARED,),
    ),
    Mutation(
        name="starts of who was frozen",
        guards="Who was frozen past its lease begins nothing while the leader may count it dead.",
        file="src/fairlane/cluster/lease_renewal.py",
        find="self._is_over(self._terms.yield_seconds) or self._is_doubtful()",
        replace="False",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="starts without a lease",
        guards="A worker that does not hold its lease gives back what it is told to begin.",
        file="src/fairlane/worker/worker.py",
        find="is_well and self.has_valid_lease()",
        replace="is_well",
        noticed_by=(suite("tests/cluster/test_membership.py"),),
    ),
    Mutation(
        name="declarations that come late",
        guards="What a standby declares does not undo what somebody has changed meanwhile.",
        file="src/fairlane/core/commands.py",
        find="if command.if_absent and board.documents.get(key) is not None:",
        replace="if False:",
        noticed_by=(suite("tests/core/test_documents.py"),),
    ),
    Mutation(
        name="workers without a lease",
        guards="Who is known and has no lease is dead, and gets no work.",
        file=_LEASE_WATCH,
        find="WorkerGone(worker) for worker in known if carrier_of(worker) not in beats",
        replace="WorkerGone(worker) for worker in ()",
        noticed_by=(suite("tests/cluster/test_lease_watch.py"),),
    ),
    Mutation(
        name="silence of whom a former leader knew",
        guards="Nobody gets work from a new leader before it shows that it lives.",
        file=_LEASE_WATCH,
        find="                if before is not None:\n",
        replace="                if True:\n",
        noticed_by=(suite("tests/cluster/test_lease_watch.py"),),
    ),
    Mutation(
        name="messages before those at hand",
        guards="Orders are obeyed in order: what was never handed over is read first.",
        file=_MAILBOX,
        find="        if at.after > self._number:\n",
        replace="        if False:\n",
        noticed_by=(suite("tests/cluster/test_mailbox.py"),),
    ),
    Mutation(
        name="messages obeyed once",
        guards="What was read from the table is not obeyed again when it is handed over.",
        file=_MAILBOX,
        find="        elif at.number > self._number:\n",
        replace="        else:\n",
        noticed_by=(suite("tests/cluster/test_mailbox.py"),),
    ),
    Mutation(
        name="words that nobody acknowledged, said again",
        guards="What the database may have lost is said again.",
        file=_MAILBOX,
        find="                self._outgoing.append(said)\n",
        replace="                pass\n",
        noticed_by=(suite("tests/cluster/test_mailbox.py"),),
    ),
    Mutation(
        name="words that could not be sent, kept",
        guards="What could not be written into the inbox is kept for the next try.",
        file=_MAILBOX,
        find="                self._outgoing.extendleft(reversed(batch))\n",
        replace="                pass\n",
        noticed_by=(suite("tests/cluster/test_mailbox.py"),),
    ),
    Mutation(
        name="living workers at a takeover",
        guards="A new leader does not take the workers of others for dead.",
        file="src/fairlane/cluster/fleet.py",
        find="        return sorted(dead)\n",
        replace="        return sorted(others)\n",
        noticed_by=(_SHARED,),
    ),
)

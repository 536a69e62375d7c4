"""Guards of several processes on one database: leases, messages and live workers."""

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
        guards="A worker that cannot renew stops its jobs before another process may run them.",
        file=_RENEWAL,
        find="            self._callbacks.return_jobs()\n",
        replace="",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="the end of a process that cannot stop",
        guards="A job that does not stop before the lease ends makes its process exit.",
        file=_RENEWAL,
        find="if self._is_older_than(times.end_seconds) and ",
        replace="if False and ",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="leases counted from before they are sent",
        guards="A renewal that took long to arrive does not lengthen the lease.",
        file=_RENEWAL,
        find="self.renewed_at = sent_at\n",
        replace="self.renewed_at = sent_at + self._times.lease_seconds\n",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="jobs of workers that count as dead",
        guards="The running jobs of a worker that counts as dead are stopped at once.",
        file=_RENEWAL,
        find="        self._callbacks.restart()\n",
        replace="",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="the lease of child processes",
        guards="A child process ends with the lease of its worker, also if that is frozen.",
        file=_RENEWAL,
        find="        self._callbacks.renew_deadline(sent_at + self._times.end_seconds)",
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
        name="the age of renewals on a wrong clock",
        guards="A wrong clock of the database counts no worker as dead before its lease ends.",
        file=_LEASE_WATCH,
        find="min(max(0.0, lease.age_seconds), self._margin)",
        replace="lease.age_seconds",
        noticed_by=(suite("tests/cluster/test_lease_watch.py"),),
    ),
    Mutation(
        name="standbys that look for the leader",
        guards="A standby stands for election when its renewal finds no leader.",
        file=_RENEWAL,
        find="            self._callbacks.stand()\n",
        replace="            pass\n",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="starts of frozen workers",
        guards="A worker frozen past its lease begins no job while the leader may count it dead.",
        file="src/fairlane/cluster/lease_renewal.py",
        find="self._is_older_than(self._times.return_seconds) or self._is_in_doubt()",
        replace="False",
        noticed_by=(_BEATS,),
    ),
    Mutation(
        name="starts without a lease",
        guards="A worker that does not hold its lease refuses assignments.",
        file="src/fairlane/worker/worker.py",
        find="is_well and self.has_valid_lease()",
        replace="is_well",
        noticed_by=(suite("tests/cluster/test_membership.py"),),
    ),
    Mutation(
        name="declarations that come late",
        guards="A late declaration of a standby does not undo an operator's change.",
        file="src/fairlane/core/commands.py",
        find="if command.if_absent and board.documents.get(key) is not None:",
        replace="if False:",
        noticed_by=(suite("tests/core/test_documents.py"),),
    ),
    Mutation(
        name="workers without a lease",
        guards="A known worker without a lease is dead, and gets no work.",
        file=_LEASE_WATCH,
        find="WorkerGone(worker) for worker in known if carrier_of(worker) not in beats",
        replace="WorkerGone(worker) for worker in ()",
        noticed_by=(suite("tests/cluster/test_lease_watch.py"),),
    ),
    Mutation(
        name="silent workers of a former leader",
        guards="A worker gets work from a new leader only after it has shown that it is alive.",
        file=_LEASE_WATCH,
        find="                if before is not None:\n",
        replace="                if True:\n",
        noticed_by=(suite("tests/cluster/test_lease_watch.py"),),
    ),
    Mutation(
        name="stored messages before delivered ones",
        guards="Messages are executed in order: undelivered ones are read first.",
        file=_MAILBOX,
        find="        if at.after > self._number:\n",
        replace="        if False:\n",
        noticed_by=(suite("tests/cluster/test_mailbox.py"),),
    ),
    Mutation(
        name="messages executed once",
        guards="A message read from the table is not executed again when it is delivered.",
        file=_MAILBOX,
        find="        elif at.number > self._number:\n",
        replace="        else:\n",
        noticed_by=(suite("tests/cluster/test_mailbox.py"),),
    ),
    Mutation(
        name="unacknowledged reports sent again",
        guards="A report that the database may have lost is sent again.",
        file=_MAILBOX,
        find="                self._outgoing.append(input)\n",
        replace="                pass\n",
        noticed_by=(suite("tests/cluster/test_mailbox.py"),),
    ),
    Mutation(
        name="unsent reports stored",
        guards="A report that could not be written into the inbox is stored for the next try.",
        file=_MAILBOX,
        find="                self._outgoing.extendleft(reversed(batch))\n",
        replace="                pass\n",
        noticed_by=(suite("tests/cluster/test_mailbox.py"),),
    ),
    Mutation(
        name="living workers at a takeover",
        guards="A new leader does not count the live workers of other processes as dead.",
        file="src/fairlane/cluster/fleet.py",
        find="        return sorted(dead)\n",
        replace="        return sorted(others)\n",
        noticed_by=(_SHARED,),
    ),
)

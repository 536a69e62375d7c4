"""The conditions that must hold when a body begins."""

from simulation.journal import Journal, Run


def check_start(journal: Journal, run: Run) -> None:
    _lane(journal, run)
    _max_concurrent(journal, run)
    _paused(journal, run)
    _slots(journal, run)
    _output(journal, run)
    _device(journal, run)
    _own_facts(journal, run)


def _lane(journal: Journal, run: Run) -> None:
    if run.lane is None:
        return
    journal.checked("one attempt per lane")
    for other in journal.running.values():
        if other is not run and (other.queue, other.lane) == (run.queue, run.lane):
            journal.violate(
                "one attempt per lane",
                f'{run.job} begins in lane "{run.lane}" while {other.job} runs in {other.process}',
            )


def _max_concurrent(journal: Journal, run: Run) -> None:
    possible_values = journal.max_concurrent[run.queue].possible_values(
        journal.now(), since=run.since
    )
    if None in possible_values:
        return
    journal.checked("max_concurrent")
    running = sum(other.queue == run.queue for other in journal.running.values())
    most = max(n for n in possible_values if n is not None)
    if running > most:
        journal.violate("max_concurrent", f"{running} run in {run.queue}, {most} may")


def _output(journal: Journal, run: Run) -> None:
    if not run.kind.writes or run.job not in journal.submissions:
        return
    journal.checked("one writer per output")
    key = journal.submissions[run.job].key
    for other in journal.running.values():
        submission = journal.submissions.get(other.job)
        if other is run or not other.kind.writes or submission is None or submission.key != key:
            continue
        journal.violate(
            "one writer per output",
            f"{run.job} begins while {other.job}, which writes the same path, runs",
        )


def _device(journal: Journal, run: Run) -> None:
    if run.device is None:
        return
    journal.checked("one job per device")
    for other in journal.running.values():
        if other is not run and other.device == run.device:
            journal.violate(
                "one job per device",
                f"{run.job} begins on {run.device} while {other.job} runs on it in {other.process}",
            )


def _slots(journal: Journal, run: Run) -> None:
    if run.process not in journal.slots or run.kind.on_device:
        return
    journal.checked("slots")
    slots = journal.slots[run.process]
    running = sum(
        other.process == run.process and not other.kind.on_device
        for other in journal.running.values()
    )
    if running > slots:
        journal.violate("slots", f"{running} run in {run.process}, which has {slots} slots")


def _paused(journal: Journal, run: Run) -> None:
    journal.checked("pauses")
    if None not in journal.paused[run.queue].possible_values(journal.now(), since=run.since):
        journal.violate("pauses", f"{run.job} begins in {run.queue}, which is paused")


def _own_facts(journal: Journal, run: Run) -> None:
    journal.checked("one attempt per job")
    for other in journal.runs_of_job[run.job]:
        if other is not run and other.ended_at is None:
            journal.violate("one attempt per job", f"{run.job} runs twice at once")
    submission = journal.submissions.get(run.job)
    if submission is None:
        return
    journal.checked("final states")
    if submission.refused is not None:
        journal.violate("refusals", f"{run.job} begins though {submission.refused} was answered")
    if submission.merged:
        journal.violate("merges", f"{run.job} begins though it was merged into {submission.holder}")
    if submission.retried:
        return  # a manual retry ignores the due time and the dependencies of the submission
    if submission.run_at is not None:
        journal.checked("due times")
    if (
        submission.run_at is not None
        and run.since == run.began_at
        and run.wall_at < submission.run_at - 0.001
    ):
        journal.violate(
            "due times", f"{run.job} begins {submission.run_at - run.wall_at:.3f} s early"
        )
    for on in submission.depends_on:
        journal.checked("dependencies")
        ok = any(r.how == "ok" for r in journal.runs_of_job.get(on, []))
        if not ok:
            journal.violate("dependencies", f"{run.job} begins before {on} has completed")
    for command in journal.commands:
        if command.verb == "cancel" and command.subject == run.job and command.problem is None:
            journal.checked("cancelled")
            if command.acknowledged_at is not None and command.acknowledged_at < run.since:
                journal.violate("cancelled", f"{run.job} begins after it was cancelled")
    end = journal.ends.get(run.job)
    if end is not None and end[1] < run.since:
        journal.violate("final states", f"{run.job} begins after it had ended as {end[0]}")

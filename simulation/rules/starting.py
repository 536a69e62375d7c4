"""What must hold at the moment a body begins."""

from simulation.journal import Journal, Run


def check_start(journal: Journal, run: Run) -> None:
    _lane(journal, run)
    _max_concurrent(journal, run)
    _paused(journal, run)
    _slots(journal, run)
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
    possible = journal.most[run.queue].possible(journal.now(), since=run.since)
    if None in possible:
        return
    journal.checked("max_concurrent")
    running = sum(other.queue == run.queue for other in journal.running.values())
    most = max(n for n in possible if n is not None)
    if running > most:
        journal.violate("max_concurrent", f"{running} run in {run.queue}, {most} may")


def _slots(journal: Journal, run: Run) -> None:
    if run.process not in journal.slots:
        return
    journal.checked("slots")
    slots = journal.slots[run.process]
    running = sum(other.process == run.process for other in journal.running.values())
    if running > slots:
        journal.violate("slots", f"{running} run in {run.process}, which has {slots} slots")


def _paused(journal: Journal, run: Run) -> None:
    journal.checked("pauses")
    if None not in journal.paused[run.queue].possible(journal.now(), since=run.since):
        journal.violate("pauses", f"{run.job} begins in {run.queue}, which is paused")


def _own_facts(journal: Journal, run: Run) -> None:
    journal.checked("one attempt per job")
    for other in journal.of_job[run.job]:
        if other is not run and other.ended_at is None:
            journal.violate("one attempt per job", f"{run.job} runs twice at once")
    sent = journal.sent.get(run.job)
    if sent is None:
        return
    journal.checked("final states")
    if sent.refused is not None:
        journal.violate("refusals", f"{run.job} begins though {sent.refused} was answered")
    if sent.merged:
        journal.violate("merges", f"{run.job} begins though it was merged into {sent.holder}")
    if sent.retried:
        return  # by hand: it starts when it can, whatever was said when it was submitted
    if sent.run_at is not None:
        journal.checked("due times")
    if sent.run_at is not None and run.since == run.began_at and run.wall_at < sent.run_at - 0.001:
        journal.violate("due times", f"{run.job} begins {sent.run_at - run.wall_at:.3f} s early")
    for on in sent.depends_on:
        journal.checked("dependencies")
        ok = any(r.how == "ok" for r in journal.of_job.get(on, []))
        if not ok:
            journal.violate("dependencies", f"{run.job} begins before {on} has completed")
    for told in journal.told:
        if told.verb == "cancel" and told.subject == run.job and told.problem is None:
            journal.checked("cancelled")
            if told.heard_at is not None and told.heard_at < run.since:
                journal.violate("cancelled", f"{run.job} begins after it was cancelled")
    end = journal.ends.get(run.job)
    if end is not None and end[1] < run.since:
        journal.violate("final states", f"{run.job} begins after it had ended as {end[0]}")

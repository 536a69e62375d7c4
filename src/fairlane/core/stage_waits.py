"""Stages of running jobs that wait: the reason of the job, and the reasons for `explain`.

A running job has one reason. It is the one of the stage that has waited longest, unless the job is
stuck; it is stored with the job, so it leaves out the seconds until the next start of a rate.
"""

from typing import Final

from fairlane.core.board import Board
from fairlane.core.inputs import EnterStage
from fairlane.core.lifecycle import State
from fairlane.core.limits import Capacity, Rate
from fairlane.core.live_job import LiveJob, Reason
from fairlane.errors import TimedOut, UnknownName

_CODES: Final = ("rate_limit", "resource")


def stage_capacities(board: Board, stage: EnterStage) -> list[Capacity]:
    shares = [board.resource(name).share(amount) for name, amount in stage.uses]
    return [*(board.rate(key) for key in stage.limits), *shares]


def find_unreachable(board: Board, stage: EnterStage) -> TimedOut | None:
    """Return an error if functions past their time-out hold a resource until the attempt ends."""
    left = dict(stage.leftovers)
    missing = [
        (name, amount)
        for name, amount in stage.uses
        if left.get(name) and amount > board.resource(name).total - left[name]
    ]
    if not missing:
        return None
    needs = ", ".join(f'{amount} of "{name}"' for name, amount in missing)
    return TimedOut(
        f'stage "{stage.stage}" cannot get {needs}: a function of this attempt still runs after '
        f"its time-out and holds {', '.join(name for name, _ in missing)} until the child process "
        "ends with the attempt; a retry of the job runs in another process"
    )


def explain_stages(board: Board, job: LiveJob) -> list[Reason]:
    """Return a reason for each capacity that a stage of this job lacks."""
    return [
        _reason_of(stage, capacity.reason(board.now)) for stage, capacity in _shortages(board, job)
    ]


def update_reason(board: Board, job: LiveJob) -> None:
    """Show the wait of a stage as the reason of its running job, or remove it after the wait."""
    present = job.reason
    if job.state is not State.RUNNING or (present is not None and present.code not in _CODES):
        return
    reason = None
    for stage, capacity in _shortages(board, job):
        rule = capacity.rule if isinstance(capacity, Rate) else None
        reason = _reason_of(stage, rule or capacity.reason(board.now))
        break
    if reason != present:
        job.reason = reason
        board.mark_changed(job)


def _shortages(board: Board, job: LiveJob) -> list[tuple[EnterStage, Capacity]]:
    found = []
    for stage in board.waiting_stages.values():
        if stage.job != job.id:
            continue
        try:
            capacities = stage_capacities(board, stage)
        except UnknownName:
            continue  # it is no longer declared; the stage is denied when it is checked again
        found += [(stage, one) for one in capacities if not one.has_room(board.now)]
    return found


def _reason_of(stage: EnterStage, reason: Reason) -> Reason:
    return Reason(reason.code, f'stage "{stage.stage}": {reason.message}')

"""Admission: checking submissions against the board and adding their jobs, as one atomic step.

Rules:

- All jobs of a submission are checked before the first is added, each as if the jobs before it were
  already there. One conflict refuses all of them, and the board is unchanged.
- A job id that exists already was sent twice: it is answered again and not added again.
- A binding submission and a firing of a schedule cannot be refused: their jobs, or their firings,
  are recorded as skipped with the reason.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from fairlane.core.board import Board
from fairlane.core.decisions import Ended, Firing
from fairlane.core.inputs import Submission, Submit
from fairlane.core.lanes import Lane
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, Reason, Terms
from fairlane.core.queues import Queue
from fairlane.core.state_changes import CHANGE_DATA, add_job, end_job, transition
from fairlane.errors import Duplicate, FairlaneError, LaneBusy, Merged, NotFound, UsageError

TICK_SECONDS: Final = 1e-5  # between two firings by hand


def submit(board: Board, command: Submit, ended: dict[JobId, LiveJob]) -> list[dict[str, Any]]:
    """Admit all jobs of a submission and return the id of each, or of the job it merged into."""
    first = command.jobs[0] if command.jobs else None
    if first is not None and first.schedule is not None:
        return _fire(board, first, ended)
    try:
        merged = _check_all(board, command.jobs, ended)
    except FairlaneError as error:
        if not command.binding:
            raise
        return [_refuse(board, submission, ended, error) for submission in command.jobs]
    answers = []
    for submission in command.jobs:
        id = merged.get(submission.id, submission.id)
        if command.binding and id != submission.id:
            _refuse(board, submission, ended, Merged(active_job=id))
        if id == submission.id and id not in board.jobs and id not in ended:
            admit(board, submission, ended, merged)
        answers.append({"id": id, "merged": id != submission.id})
    return answers


def _refuse(
    board: Board, submission: Submission, ended: dict[JobId, LiveJob], error: FairlaneError
) -> dict[str, Any]:
    """Record a job of a binding submission as skipped, with the reason."""
    id = submission.id
    if id not in board.jobs and id not in ended and id not in board.ended:
        reason = Reason(error.code, error.message)
        job = LiveJob(
            id=id, task=submission.task, queue=submission.queue, lane=submission.lane,
            kind=submission.kind, priority=submission.priority, position="", state=State.SKIPPED,
            terms=submission.terms, dedupe=submission.dedupe, exclusive=False,
            digest=submission.digest, bucket=submission.bucket, due_at=None, reason=reason,
            created_at=board.now,
        )  # fmt: skip
        problem = {"code": error.code, "message": error.message, "retryable": False}
        board.changes.submitted.append(submission)
        board.changes.ended[id] = Ended(job, board.now, error=problem)
        board.ended[id] = job
        change = {**CHANGE_DATA[State.CREATED, State.SKIPPED], "reason": reason.message}
        board.add_event("job_state_changed", job, job.queue, change)
    return {"id": id, "merged": False}


def _fire(
    board: Board, submission: Submission, ended: dict[JobId, LiveJob]
) -> list[dict[str, Any]]:
    """Admit the job of a schedule, or record the firing without a job and with the reason."""
    name = submission.schedule or ""
    if submission.id in board.jobs or submission.id in ended:
        return [{"id": submission.id, "merged": False}]  # sent twice: already decided
    if submission.by_hand:
        fire_at = _instant_by_hand(board, name)
    else:
        fire_at = submission.fire_at or board.now
        if board.fired_at.get(name, float("-inf")) >= fire_at:
            return []
        board.fired_at[name] = fire_at
        board.changes.records["fired", name] = repr(fire_at)
    if submission.dedupe is None and submission.lane is None:
        submission.dedupe = f"schedule:{name}"  # the same scheduled job never runs twice at once
    job: JobId | None = submission.id
    reason = None
    try:
        for twin in _check_all(board, [submission], ended).values():
            job, reason = None, f"an equal job is active: {twin}"
    except FairlaneError as error:
        job, reason = None, error.message
    board.changes.firings.append(Firing(name, fire_at, job, 1, reason))
    board.add_event(
        "schedule_fired", None, submission.queue,
        {"schedule": name, "fire_at": fire_at, "job": job, "reason": reason},
    )  # fmt: skip
    if job is None:
        return [{"id": None, "merged": False}]
    admit(board, submission, ended)
    return [{"id": job, "merged": False}]


def _instant_by_hand(board: Board, name: str) -> float:
    """Return a distinct instant for a firing by hand: instants identify the firings."""
    last = max(table.get(name, board.now) for table in (board.fired_at, board.fired_by_hand_at))
    fire_at = max(board.now, last) + TICK_SECONDS
    board.fired_by_hand_at[name] = fire_at
    board.changes.records["fired_by_hand", name] = repr(fire_at)
    return fire_at


def _check_all(
    board: Board, submissions: list[Submission], ended: dict[JobId, LiveJob]
) -> dict[JobId, JobId]:
    """Raise on the first conflict; map the submissions that merge to their jobs."""
    merged: dict[JobId, JobId] = {}
    lanes: dict[tuple[str, str], Submission] = {}
    dedupes: dict[str, JobId] = {}
    batch = {submission.id for submission in submissions}
    seen: set[JobId] = set()
    for submission in submissions:
        if submission.id in board.jobs or submission.id in ended or submission.id in seen:
            continue  # sent twice: already decided
        seen.add(submission.id)
        queue = board.queue(submission.queue)
        check_terms(board, submission.terms)
        for id in submission.depends_on:
            if id not in board.jobs and id not in ended and id not in batch:
                raise NotFound(f"job {id}, which job {submission.id} depends on, does not exist")
        same = check_lane(board, queue, submission.lane, submission.digest)
        if submission.lane is not None and same is None:
            earlier = lanes.setdefault((queue.name, submission.lane), submission)
            if earlier is not submission:
                same = _check_within(queue, submission, earlier)
        if same is not None:
            merged[submission.id] = same
            continue
        if submission.dedupe is not None:
            holder = dedupes.setdefault(submission.dedupe, submission.id)
            if holder != submission.id:
                raise Duplicate(submission.dedupe, holder, "part of this submission")
            check_dedupe(board, submission.dedupe)
    _check_circles(submissions)
    return merged


def _check_circles(submissions: list[Submission]) -> None:
    """Raise if jobs of one submission depend on each other in a circle.

    Circles arise only within a submission: other jobs exist already, so they depend on none of it.
    """
    if not any(submission.depends_on for submission in submissions):
        return
    batch = {submission.id for submission in submissions}
    waits = {s.id: batch.intersection(s.depends_on) for s in submissions}
    dependents: dict[JobId, list[JobId]] = {}
    for id, on in waits.items():
        for other in on:
            dependents.setdefault(other, []).append(id)
    free = [id for id, on in waits.items() if not on]
    while free:
        done = free.pop()
        del waits[done]
        for id in dependents.get(done, ()):
            waits[id].discard(done)
            if not waits[id]:
                free.append(id)
    if waits:
        shown = ", ".join(sorted(waits)[:5])
        raise UsageError(f"jobs depend on each other in a circle, so none could ever run: {shown}")


def _check_within(queue: Queue, submission: Submission, earlier: Submission) -> JobId | None:
    policy = queue.settings.on_conflict
    same = submission.digest is not None and submission.digest == earlier.digest
    if policy == "merge" and same:
        return earlier.id
    if policy in ("merge", "reject"):
        raise LaneBusy(queue.name, submission.lane or "", earlier.id, "part of this submission")
    return None


def check_terms(board: Board, terms: Terms) -> None:
    """Raise if a limit or resource that a job names is not known."""
    for key in terms.limits:
        board.rate(key)
    for name, _ in terms.uses:
        board.resource(name)


def check_lane(
    board: Board, queue: Queue, lane_name: str | None, digest: str | None
) -> JobId | None:
    """Raise if the lane accepts no job now; return the job to merge into, if there is one."""
    lane = None if lane_name is None else board.lanes.get((queue.name, lane_name))
    if lane is None:
        return None
    policy = queue.settings.on_conflict
    if policy == "merge":
        for id in lane.live:
            if digest is not None and board.jobs[id].digest == digest:
                return id
    if policy in ("merge", "reject") or (policy == "reject_running" and lane.holder is not None):
        active = active_in(board, lane)
        raise LaneBusy(queue.name, lane.name, active.id, active.state.value)
    return None


def check_dedupe(board: Board, dedupe: str | None) -> None:
    holder = board.dedupe.get(dedupe) if dedupe is not None else None
    if dedupe is not None and holder is not None:
        raise Duplicate(dedupe, holder, board.jobs[holder].state.value)


def active_in(board: Board, lane: Lane) -> LiveJob:
    """Return the job to name in conflicts of a lane: its holder, or else the oldest."""
    return lane.holder if lane.holder is not None else board.jobs[next(iter(lane.live))]


def is_exclusive(queue: Queue, lane: str | None) -> bool:
    return lane is not None and queue.settings.on_conflict in ("reject", "merge")


def admit(
    board: Board,
    submission: Submission,
    ended: dict[JobId, LiveJob],
    merged: Mapping[JobId, JobId] = MappingProxyType({}),
) -> None:
    """Add a checked job; a dependency on a merged job becomes one on its equal."""
    queue = board.queue(submission.queue)
    waits: list[JobId] = []
    failed: Reason | None = None
    if submission.depends_on:
        depends_on = [merged.get(id, id) for id in submission.depends_on]
        waits, failed = _dependencies(board, submission.terms, depends_on, ended)
    if submission.skip_reason is not None:
        waits, failed = [], submission.skip_reason
    job = LiveJob(
        id=submission.id,
        task=submission.task,
        queue=submission.queue,
        lane=submission.lane,
        kind=submission.kind,
        priority=submission.priority,
        position="" if waits else queue.new_tail(),
        state=State.CREATED,
        terms=submission.terms,
        dedupe=submission.dedupe,
        exclusive=is_exclusive(queue, submission.lane),
        digest=submission.digest,
        bucket=submission.bucket if submission.bucket is not None else submission.lane,
        due_at=submission.run_at if waits or (submission.run_at or 0.0) > board.now else None,
        created_at=board.now,
    )
    board.changes.submitted.append(submission)
    board.changes.entered[job.id] = job
    add_job(board, job)
    if failed is not None:
        end_job(board, job, State.SKIPPED, reason=failed)
    elif waits:
        board.changes.dependencies += [(job.id, id) for id in waits]
        block_on_dependencies(board, job, set(waits))
    elif job.due_at is not None:
        transition(board, job, State.SCHEDULED, due_at=job.due_at)
    else:
        transition(board, job, State.QUEUED)


def block_on_dependencies(board: Board, job: LiveJob, waits: set[JobId]) -> None:
    board.waits_on[job.id] = waits
    for id in waits:
        dependents = board.dependents.setdefault(id, [])
        if job.id not in dependents:
            dependents.append(job.id)
    job.reason = Reason("dependencies", f"waits for {len(waits)} other jobs to complete")
    transition(board, job, State.BLOCKED, reason=job.reason.message)


def _dependencies(
    board: Board, terms: Terms, depends_on: list[JobId], ended: dict[JobId, LiveJob]
) -> tuple[list[JobId], Reason | None]:
    waits: dict[JobId, None] = {}
    for id in depends_on:
        gone = ended.get(id)
        if id in board.jobs or gone is None:
            waits[id] = None
        elif gone.state is not State.COMPLETED and not terms.run_anyway:
            return [], Reason("dependency", f"it depends on job {id}, which ended as {gone.state}")
    return list(waits), None

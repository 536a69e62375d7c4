"""Where waiting jobs are filed, and how the next of them is found again.

A waiting job stands in one line: of its lane, of its strict queue, or, without a lane, of its
demand; and the heads of a lane stand in the lines of their demands as well. Lines are exact: who
leaves a state that waits leaves its line at once.
"""

from heapq import heappop, heappush

import msgspec

from fairlane.core.facts import Facts
from fairlane.core.lanes import Lane
from fairlane.core.lifecycle import State
from fairlane.core.live_job import LiveJob
from fairlane.core.queues import STRICT_STATES, Demand, Queue


class Filing(Facts):
    def place(self, job: LiveJob) -> None:
        """File a job where its state says it belongs."""
        if job.state is State.CREATED:
            return
        if job.state is State.SCHEDULED or job.state is State.RETRYING:
            heappush(self.sleepers, (job.due_at or 0.0, job.id))
        self.line_up(job)

    def line_up(self, job: LiveJob) -> None:
        """Let a job join the line that its state says it waits in, if any."""
        if not job.position:
            return
        queue = self.queues[job.queue]
        state = job.state
        if queue.is_strict:
            if state in STRICT_STATES:
                queue.strict_line.add(job)
        elif state is State.QUEUED or state is State.BLOCKED:
            lane = self.lane_of(job)
            if lane is not None:
                line = lane.line(job.priority)
                line.add(job)
                if lane.holder is job or line.first() is job:
                    self.file_heads(lane)
            elif state is State.QUEUED:
                self.file(job)
        self.dirty[job.queue] = None

    def leave_line(self, job: LiveJob, was: State) -> None:
        """Take a job out of the line that it stood in while it was in this state.

        Its lane may have another head then: the caller has the heads filed when all is in place.
        """
        if was is State.CREATED or not job.position:
            return
        queue = self.queues[job.queue]
        if queue.is_strict:
            if was in STRICT_STATES:
                queue.strict_line.remove(job)
        elif was is State.QUEUED or was is State.BLOCKED:
            lane = self.lane_of(job)
            if lane is not None:
                lane.line(job.priority).remove(job)
                if job in lane.filed:
                    lane.filed.remove(job)
                    self.unfile(job)
            elif was is State.QUEUED:
                self.unfile(job)

    def file_heads(self, lane: Lane) -> None:
        """Have exactly those of a lane's jobs in their demands that may start next."""
        heads, filed = lane.heads(), lane.filed
        if heads == filed or self.queues[lane.queue].is_strict:
            return
        for job in filed:
            if job not in heads:
                self.unfile(job)
        for job in heads:
            if job not in filed:
                self.file(job)
        lane.filed = heads

    def file(self, job: LiveJob) -> None:
        queue = self.queues[job.queue]
        demand = queue.demand(job.priority, job.task, job.terms)
        turn = 0
        if queue.is_round_robin:
            turn = self.turn_of(queue, job)
            demand.line_of(job.bucket or "").add(job)
            demand.show(job.bucket or "", turn, job.position)
        else:
            demand.line.add(job)
        thing = demand.parked_on
        if thing is not None and thing.has_room(self.now):
            # A demand behind this one may have been woken, and this one may now be before it.
            demand.parked_on = None
            head = self.head_of(demand)
            if head is not None:
                queue.priorities[job.priority].list(demand, head[0], head[1])
        elif thing is not None:
            thing.park(demand, turn, job.position)
        else:
            queue.priorities[job.priority].list(demand, turn, job.position)
        self.dirty[job.queue] = None

    def unfile(self, job: LiveJob) -> None:
        queue = self.queues[job.queue]
        demand = queue.demand(job.priority, job.task, job.terms)
        if queue.is_round_robin:
            demand.leave(job.bucket or "", job)
        else:
            demand.line.remove(job)

    def turn_of(self, queue: Queue, job: LiveJob) -> int:
        """Return the turn of a job's bucket; a new bucket joins at the end of the round."""
        bucket = job.bucket or ""
        if bucket not in queue.turns:
            self.served(queue, bucket)
        return queue.turns[bucket]

    def served(self, queue: Queue, bucket: str) -> None:
        queue.turn += 1
        queue.turns[bucket] = queue.turn
        self.changes.records["turn", _turn_name(queue, bucket)] = str(queue.turn)

    def _leave_bucket(self, queue: Queue, bucket: str) -> None:
        """Forget the turn of a bucket without jobs; lanes by name can be endless."""
        left = queue.bucket_jobs.get(bucket, 0) - 1
        if left > 0:
            queue.bucket_jobs[bucket] = left
            return
        queue.bucket_jobs.pop(bucket, None)
        if queue.turns.pop(bucket, None) is not None:
            self.changes.records["turn", _turn_name(queue, bucket)] = None

    def head_of(self, demand: Demand) -> tuple[int, str, LiveJob] | None:
        """Return the demand's best head, with its turn and its position."""
        queue = self.queues[demand.queue]
        if queue.is_round_robin:
            return self._head_in_turn(queue, demand)
        job = demand.line.first()
        return None if job is None else (0, job.position, job)

    def _head_in_turn(self, queue: Queue, demand: Demand) -> tuple[int, str, LiveJob] | None:
        """Put right on the way what is shown with an old turn or by a head that has left."""
        heads = demand.heads
        while heads:
            turn, position, bucket = heads[0]
            if demand.shown.get(bucket) != (turn, position):
                heappop(heads)
                continue
            line = demand.buckets.get(bucket)
            job = None if line is None else line.first()
            if job is not None and (self.turn_of(queue, job), job.position) == (turn, position):
                return turn, position, job
            heappop(heads)
            del demand.shown[bucket]
            if job is not None:
                demand.show(bucket, self.turn_of(queue, job), job.position)
        return None

    def refile(self, queue: Queue) -> None:
        """File every waiting job of a queue anew: its order is another one now."""
        for demand in queue.demands.values():
            demand.parked_on = demand.woken_by = demand.listed = None
        queue.clear_order()
        for lane in self.lanes.values():
            if lane.queue == queue.name:
                lane.lines.clear()
                lane.filed.clear()
        jobs = self.jobs_of(queue)
        if queue.is_round_robin:
            for job in jobs:
                bucket = job.bucket or ""
                queue.bucket_jobs[bucket] = queue.bucket_jobs.get(bucket, 0) + 1
        for bucket in [bucket for bucket in queue.turns if bucket not in queue.bucket_jobs]:
            self._leave_bucket(queue, bucket)
        for job in jobs:
            self.line_up(job)


def _turn_name(queue: Queue, bucket: str) -> str:
    return msgspec.json.encode((queue.name, bucket)).decode()

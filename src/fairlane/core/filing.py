"""Where waiting jobs are filed, and how the next of them is found again.

A job is filed by one push into a heap and never searched for. Heaps are cleaned lazily: an entry is
believed only if the job still is what the entry says, and dropped otherwise when it comes to the
front.
"""

from heapq import heappop, heappush

import msgspec

from fairlane.core.facts import Facts
from fairlane.core.job import Job, JobId
from fairlane.core.lanes import Lane
from fairlane.core.lifecycle import State
from fairlane.core.queues import STRICT_STATES, Demand, Queue


class Filing(Facts):
    def place(self, job: Job) -> None:
        """File a job where its state says it belongs."""
        queue = self.queues[job.queue]
        if job.state in (State.SCHEDULED, State.RETRYING):
            heappush(self.sleepers, (job.due_at or 0.0, job.id))
        if not job.position:
            return
        if queue.is_strict:
            if job.state in STRICT_STATES:
                queue.strict_line.add(job)
        elif job.state in (State.QUEUED, State.BLOCKED):
            lane = self.lane_of(job)
            if lane is not None:
                lane.line(job.band).add(job)
                self.file_heads(lane)
            elif job.state is State.QUEUED:
                self.file(job)
        self.dirty[job.queue] = None

    def file_heads(self, lane: Lane) -> None:
        for job in lane.heads(self.jobs):
            filed = (job.band, job.position)
            if lane.filed.get(job.id) != filed:
                lane.filed[job.id] = filed
                self.file(job)

    def file(self, job: Job) -> None:
        queue = self.queues[job.queue]
        terms = job.terms
        demand = queue.demand(job.band, job.task, terms.limits, terms.uses, terms.requires)
        turn = 0
        if queue.is_round_robin:
            turn = self.turn_of(queue, job)
            bucket = job.bucket or ""
            heappush(demand.buckets.setdefault(bucket, []), (job.position, job.id))
            demand.show(bucket, turn, job.position)
        else:
            heappush(demand.heads, (turn, job.position, job.id))
        thing = demand.parked_on
        if thing is not None and thing.has_room(self.now):
            # A demand behind this one may have been woken, and this one may now be before it.
            demand.parked_on = None
            head = self.head_of(demand)
            if head is not None:
                queue.bands[job.band].list(demand, head[0], head[1])
        elif thing is not None:
            thing.park(demand, turn, job.position)
        else:
            queue.bands[job.band].list(demand, turn, job.position)
        self.dirty[job.queue] = None

    def turn_of(self, queue: Queue, job: Job) -> int:
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

    def head_of(self, demand: Demand) -> tuple[int, str, Job] | None:
        """Return the demand's best head, dropping entries that are no longer true."""
        queue = self.queues[demand.queue]
        if queue.is_round_robin:
            return self._head_in_turn(queue, demand)
        heads = demand.heads
        while heads:
            _, position, id = heads[0]
            job = self._true_head(demand, position, JobId(id))
            if job is not None:
                return 0, position, job
            heappop(heads)
        return None

    def _head_in_turn(self, queue: Queue, demand: Demand) -> tuple[int, str, Job] | None:
        heads = demand.heads
        while heads:
            turn, position, bucket = heads[0]
            if demand.shown.get(bucket) != (turn, position):
                heappop(heads)
                continue
            job = self._first_of(demand, bucket)
            if job is not None and (self.turn_of(queue, job), job.position) == (turn, position):
                return turn, position, job
            heappop(heads)
            del demand.shown[bucket]
            if job is not None:
                demand.show(bucket, self.turn_of(queue, job), job.position)
        return None

    def _first_of(self, demand: Demand, bucket: str) -> Job | None:
        heap = demand.buckets[bucket]
        while heap:
            position, id = heap[0]
            job = self._true_head(demand, position, id)
            if job is not None:
                return job
            heappop(heap)
        del demand.buckets[bucket]
        return None

    def _true_head(self, demand: Demand, position: str, id: JobId) -> Job | None:
        """Return the job that an entry speaks of, if it still is what the entry says."""
        job = self.jobs.get(id)
        if job is None:
            return None
        lane = self.lane_of(job)
        if (
            job.state is State.QUEUED
            and job.position == position
            and job.band is demand.band
            and (lane is None or lane.is_head(job, self.jobs))
        ):
            return job
        if lane is not None and lane.filed.get(id) == (demand.band, position):
            del lane.filed[id]
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
        if queue.is_round_robin:
            for id in (*queue.running, *queue.waiting):
                bucket = self.jobs[id].bucket or ""
                queue.bucket_jobs[bucket] = queue.bucket_jobs.get(bucket, 0) + 1
        for bucket in [bucket for bucket in queue.turns if bucket not in queue.bucket_jobs]:
            self._leave_bucket(queue, bucket)
        for id in queue.waiting:
            self.place(self.jobs[id])


def _turn_name(queue: Queue, bucket: str) -> str:
    return msgspec.json.encode((queue.name, bucket)).decode()

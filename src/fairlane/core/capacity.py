"""What runs short, who waits for it, and who is looked at when there is some again.

A start, or a stage of a running job, is held up by the first thing it lacks and filed under that
thing alone. When the thing has room again, stages go first, then one demand of each band; the next
demand is woken only when that one has had its chance, so a release costs the same however many
wait.
"""

from heapq import heappush

import msgspec

from fairlane.core.inputs import EnterStage
from fairlane.core.lifecycle import Priority, State
from fairlane.core.limits import Capacity, Rate, Resource, WorkerSlots
from fairlane.core.live_job import JobId, LiveJob
from fairlane.core.queues import Queue
from fairlane.core.waiting import Filing
from fairlane.core.workers import KnownWorker
from fairlane.errors import UnknownName


class Shortages(Filing):
    def obstacle(
        self,
        queue: Queue,
        task: str,
        limits: tuple[str, ...],
        uses: tuple[tuple[str, int], ...],
        requires: tuple[str, ...],
    ) -> tuple[Capacity | None, KnownWorker | None]:
        """Return the first thing a start would lack, or else the worker that takes it."""
        for key in limits:
            rate = self.rate(key)
            if not rate.has_room(self.now):
                return rate, None
        for name, amount in uses:
            share = self.resource(name).share(amount)
            if not share.has_room(self.now):
                return share, None
        device = queue.settings.devices
        worker = self.workers.free(queue.name, task, requires, device=device)
        if worker is None:
            return self.hands_for(queue.name, task, requires), None
        return None, worker

    def hands_for(self, queue: str, task: str, requires: tuple[str, ...]) -> WorkerSlots:
        key = (queue, task, requires)
        if key not in self.hands:
            workers, queues = self.workers, self.queues
            self.hands[key] = WorkerSlots(
                lambda: workers.shortage(*key, device=queues[queue].settings.devices),
                lambda: workers.free(*key, device=queues[queue].settings.devices),
            )
        return self.hands[key]

    def take_rates(self, job: LiveJob, limits: tuple[str, ...]) -> None:
        for key in dict.fromkeys(limits):
            self.rate(key).take(self.now)
            self.changes.rate_starts.append((key, self.now, job.id))

    def untake_rates(self, job: LiveJob, limits: tuple[str, ...]) -> None:
        """Give back what a start took that came to nothing; somebody else may have it now."""
        at = job.started_at or 0.0
        for key in dict.fromkeys(limits):
            rate = self.rate(key)
            rate.give_back(at)
            self.changes.returned_rate_starts.append((key, at, job.id))
            self.wake(rate)

    def set_alarm(self, thing: Capacity) -> None:
        """Have a rate looked at again when its window moves on."""
        if isinstance(thing, Rate):
            free_at = thing.free_at(self.now)
            if free_at is not None and (thing.alarm_at is None or free_at < thing.alarm_at):
                thing.alarm_at = free_at
                heappush(self.alarms, (free_at, thing.key))

    def release(self, name: str, job: JobId, token: str) -> None:
        resource = self.resources.get(name)
        if resource is not None and resource.release(job, token):
            self.resource_has_room(resource)

    def resource_has_room(self, resource: Resource) -> None:
        for share in resource.waited_for():
            self.wake(share)

    def worker_has_room(self, worker: KnownWorker) -> None:
        if not worker.is_free:
            return
        for key, hands in list(self.hands.items()):
            queue, task, requires = key
            device = self.queues[queue].settings.devices
            if hands.is_idle:
                del self.hands[key]
            elif worker.may_run(queue, task, requires, device=device):
                self.wake(hands)

    def hands_changed(self, queue: str) -> None:
        """Other workers may serve this queue now: look again at what waits for one."""
        for key, hands in list(self.hands.items()):
            if key[0] == queue:
                self.wake(hands)

    def wake(self, thing: Capacity) -> None:
        """Something has room again: stages first, then the best demand of each band."""
        while thing.asks and thing.has_room(self.now):
            ask = thing.asks.popleft()
            if self.waiting_stages.pop(ask.token, None) is not None:
                self.enter_stage(ask)
        if thing.has_room(self.now):
            for queue, priority in list(thing.parked):
                self.wake_one(thing, queue, priority)
        elif not thing.is_idle:
            self.set_alarm(thing)

    def wake_one(self, thing: Capacity, queue: str, priority: Priority) -> None:
        """List one more demand that waited for a thing which still has room."""
        while thing.has_room(self.now):
            best = thing.unpark_best(queue, priority)
            if best is None:
                return
            turn, position, demand = best
            head = self.head_of(demand)
            if head is None:
                self.queues[queue].forget(demand)
            elif (turn, position) < (head[0], head[1]):
                thing.park(demand, head[0], head[1])  # others may come before what is left of it
            else:
                demand.woken_by = thing
                demand.listed = None
                self.queues[queue].priorities[priority].list(demand, head[0], head[1])
                self.dirty[queue] = None
                return
        if not thing.is_idle:
            self.set_alarm(thing)

    def enter_stage(self, ask: EnterStage) -> None:
        """Grant a stage what it asks for, or let it wait for what is short."""
        job = self.jobs.get(ask.job)
        if job is None or job.state is not State.RUNNING or job.fence != ask.fence:
            return
        if ask.token in self.grants.get(ask.job, {}):
            self.out.orders_for(ask.worker).granted.append(ask.token)
            return
        if ask.token in self.waiting_stages:
            return  # said again: it has its place among those who wait
        try:
            things = self._stage_things(ask)
        except UnknownName as error:
            self.out.orders_for(ask.worker).denied.append((ask.token, error.as_problem()))
            return
        for thing in things:
            if not thing.has_room(self.now):
                self.waiting_stages[ask.token] = ask
                thing.asks.append(ask)
                self.set_alarm(thing)
                return
        self.take_rates(job, ask.limits)
        for name, amount in ask.uses:
            self.resource(name).hold(ask.job, ask.token, amount)
        self.grants.setdefault(ask.job, {})[ask.token] = ask
        self.changes.grants.append((ask.job, ask.token, msgspec.json.encode(ask.uses).decode()))
        self.out.orders_for(ask.worker).granted.append(ask.token)

    def _stage_things(self, ask: EnterStage) -> list[Capacity]:
        shares = [self.resource(name).share(amount) for name, amount in ask.uses]
        return [*(self.rate(key) for key in ask.limits), *shares]

    def give_back(self, job: JobId, token: str) -> None:
        grants = self.grants.get(job, {})
        ask = grants.pop(token, None)
        self.waiting_stages.pop(token, None)
        if ask is None:
            return
        if not grants:
            del self.grants[job]
        self.changes.releases.append((job, token))
        for name, _ in ask.uses:
            self.release(name, job, token)

"""The expected effect of every command on the order, and its refusals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from tests.support.stateful_order import Entry, Order, rank
from tests.support.stateful_wishes import PRIORITIES, QUEUES, PriorityLevel, Wish

UNSTARTED: Final = {"queued", "blocked", "scheduled", "retrying"}


class Model(Order):
    """Each method is a command; it returns the error code of the answer, or None."""

    def submit(self, *wishes: Wish) -> str | None:
        merged: dict[str, str] = {}
        code = self._refusal(wishes, merged)
        if code is not None:
            return code
        for wish in wishes:
            if wish.id not in self.jobs and wish.id not in merged:
                self._take_in(wish, [merged.get(id, id) for id in wish.depends_on])
        return None

    def _refusal(self, wishes: Sequence[Wish], merged: dict[str, str]) -> str | None:
        batch = {wish.id for wish in wishes}
        before: list[Wish] = []
        for wish in wishes:
            if wish.id in self.jobs or wish in before:
                continue
            if any(id not in self.jobs and id not in batch for id in wish.depends_on):
                return "not_found"
            code = self._lane_refusal(wish, before, merged)
            if code is not None:
                return code
            if wish.id in merged:
                continue
            if wish.dedupe is not None and (
                wish.dedupe in [other.dedupe for other in before] or self.is_taken(wish.dedupe)
            ):
                return "duplicate"
            before.append(wish)
        return "usage" if _goes_in_circles({w.id: set(w.depends_on) for w in wishes}) else None

    def _lane_refusal(
        self, wish: Wish, before: Sequence[Wish], merged: dict[str, str]
    ) -> str | None:
        policy = self.setting(wish.queue, "on_conflict", "queue")
        lane = (wish.queue, wish.lane)
        live = [job for job in self._live() if job.lane == lane]
        if policy == "reject_running":
            return "lane_busy" if any(job.holds_lane for job in live) else None
        mates = [job.wish for job in live] or [
            w for w in before if w.lane is not None and (w.queue, w.lane) == lane
        ]
        if not mates or policy == "queue":
            return None
        twin = next((m for m in mates if (m.task, m.text) == (wish.task, wish.text)), None)
        if policy == "reject" or twin is None:
            return "lane_busy"
        merged[wish.id] = twin.id
        return None

    def _take_in(self, wish: Wish, depends_on: Sequence[str]) -> None:
        job = self.jobs[wish.id] = Entry(wish, wish.priority)
        if wish.wait_seconds is not None:
            job.due_at = self.now + wish.wait_seconds
        known = [self.jobs[id] for id in depends_on if id in self.jobs]
        bad = [j for j in known if not j.is_live and j.state != "completed"]
        job.waits_on = {id for id in depends_on if id not in self.jobs or self.jobs[id].is_live}
        if bad and not wish.run_anyway:
            self._end(job, "skipped")
        elif job.waits_on:
            job.state = "blocked"
        else:
            self._admit(job)

    def finish(self, id: str, how: str) -> None:
        """Let a body return, or raise a transient or permanent error."""
        job = self.jobs[id]
        retry = job.option("retry", None)
        if job.stopping:
            self._end(job, "cancelled")
        elif how == "completed":
            self._end(job, "completed")
        elif retry is None or how == "permanent" or job.failures >= retry.times:
            self._end(job, "failed")
        else:
            job.failures += 1
            job.state = "retrying"
            job.due_at = self.now + retry.first_seconds * 2 ** (job.failures - 1)
            self._let_go_of_lane(job)

    def cancel(self, id: str) -> str | None:
        job = self.jobs.get(id)
        if job is None or not job.is_live:
            return "not_found" if job is None else "illegal_transition"
        if job.state == "running" and job.wish.task == "stubborn":
            job.stopping = True
        else:
            self._end(job, "cancelled")
        return None

    def skip(self, id: str) -> str | None:
        job = self.jobs.get(id)
        if job is None or job.state not in UNSTARTED:
            return "not_found" if job is None else "illegal_transition"
        self._end(job, "skipped")
        return None

    def retry(self, id: str, place: Literal["head", "tail"]) -> str | None:
        job = self.jobs.get(id)
        if job is None or job.state not in ("failed", "cancelled"):
            return "not_found" if job is None else "illegal_transition"
        merged: dict[str, str] = {}
        code = self._lane_refusal(job.wish, [], merged)
        if code is not None or merged:
            return "lane_busy"
        if job.wish.dedupe is not None and self.is_taken(job.wish.dedupe):
            return "duplicate"
        ended = {on for on in job.waits_on if not self.jobs[on].is_live}
        if ended and not job.wish.run_anyway:
            return "conflict"
        job.failures = job.crashes = 0
        job.waits_on -= ended
        if job.waits_on:
            job.state = "blocked"
            return None
        self.jobs[id] = self.jobs.pop(id)  # it returns as the newest job
        self._admit(job, place)
        return None

    def rerun(self, id: str, *, fresh: str) -> str | None:
        job = self.jobs.get(id)
        if job is None or job.is_live:
            return "not_found" if job is None else "illegal_transition"
        again = replace(job.wish, id=fresh, priority="normal", wait_seconds=None, depends_on=())
        return self.submit(again)

    def move(
        self, id: str, *, to: str | None = None, beside: str = "", after: bool = False
    ) -> str | None:
        job = self.jobs.get(id)
        if job is None or not job.is_live:
            return "not_found" if job is None else "illegal_transition"
        line = self.lines[job.wish.queue]
        if job.state not in UNSTARTED or job not in line:
            return "illegal_transition"
        if to is not None:
            line.remove(job)
            line.insert(0 if to == "head" else len(line), job)
            return None
        target = self.jobs.get(beside)
        if target is None or not target.is_live:
            return "not_found" if target is None else "illegal_transition"
        if target.state not in UNSTARTED or target not in line:
            return "conflict"
        if target is not job:
            line.remove(job)
            line.insert(line.index(target) + after, job)
            job.priority = target.priority
            self._forget_band(job)
        return None

    def prioritize(self, id: str, priority: PriorityLevel) -> str | None:
        job = self.jobs.get(id)
        if job is None or not job.is_live:
            return "not_found" if job is None else "illegal_transition"
        if job.state not in UNSTARTED:
            return "illegal_transition"
        job.priority = priority
        self._forget_band(job)
        return None

    # time, and the process

    def advance(self, seconds: float) -> None:
        self.now += seconds

    def set_back(self, seconds: float) -> None:
        """Keep durations unchanged; times of day stay as they are."""
        self.now -= seconds
        self.taken = [at - seconds for at in self.taken]
        for job in self._live():
            if job.state == "retrying":
                job.due_at = (job.due_at or 0.0) - seconds

    def restart(self) -> None:
        """Hand the running jobs back; they keep their position and lane."""
        for job in [j for j in self._live() if j.state == "running"]:
            job.state = "queued"
            self._let_go_of_lane(job)
        self.taken = [min(at, self.now) for at in self.stored_taken]

    def crash(self) -> None:
        """Move the running jobs to the front in their order; fail those that crashed too often."""
        lost = [
            j
            for priority in PRIORITIES
            for q in QUEUES
            for j in self.running(q)
            if j.priority == priority
        ]
        for job in reversed(lost):
            job.crashes += 1
            if job.stopping:
                self._end(job, "cancelled")
            elif job.crashes > job.option("recover", 1):
                self._end(job, "failed")
            else:
                self.lines[job.wish.queue].remove(job)
                self._let_go_of_lane(job)
                self._admit(job, "head")
        self.restart()

    # queries

    def choose(self, queue: str, name: str, value: Any) -> None:
        """Set an operator's value; None restores the declared one."""
        self.operator[queue] = {**self.operator[queue], name: value}
        if value is None:
            del self.operator[queue][name]

    def is_taken(self, dedupe: str) -> bool:
        return any(job.wish.dedupe == dedupe for job in self._live())

    def asked(self) -> set[str]:
        """Return the dedupe keys that wait and the lanes that run."""
        keys = [j.wish.dedupe for j in self._live() if j.state != "running" and j.wish.dedupe]
        lanes = ["/".join(j.lane) for j in self._live() if j.state == "running" and j.lane]
        return {*keys, *lanes}

    def waiting(self, queue: str) -> list[str]:
        """Return the waiting jobs in order; jobs with unmet dependencies come last."""
        is_strict = self.setting(queue, "order") == "strict"

        def place(job: Entry) -> int:
            return 0 if is_strict else rank(job.priority)

        line = [job for job in self.lines[queue] if job.state != "running"]
        blocked = [j for j in self._live() if j.state == "blocked" and j.wish.queue == queue]
        return [
            *(job.wish.id for job in sorted(line, key=place)),
            *(id for _, id in sorted((place(job), job.wish.id) for job in blocked)),
        ]


def _goes_in_circles(waits: dict[str, set[str]]) -> bool:
    while free := [id for id, on in waits.items() if not on & waits.keys()]:
        for id in free:
            del waits[id]
    return bool(waits)

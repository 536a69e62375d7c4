"""Events have no gaps, are the same for all followers, and report only legal transitions."""

from fairlane.core.lifecycle import FINAL, TRANSITIONS, State
from fairlane.store.views import EventView
from simulation.journal import Journal


class Follower:
    """Read the event stream of one host; the next process resumes where the last one stopped."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.seq = 0

    def saw(self, event: EventView) -> None:
        journal = self._journal
        journal.checked("events")
        if event.prev != self.seq:
            journal.violate("events", f"{event.seq} says it follows {event.prev}, not {self.seq}")
        if event.seq != self.seq + 1:
            journal.violate("events", f"{event.seq} came after {self.seq}")
        self.seq = event.seq
        state = str(event.data["state"]) if "state" in event.data else None
        came_from = str(event.data["from"]) if "from" in event.data else None
        facts = (event.type, event.job, came_from, state)
        if journal.events.setdefault(event.seq, facts) != facts:
            journal.violate("events", f"{event.seq} was told in two ways")
        if event.job is not None and state is not None and State(state) in FINAL:
            journal.ends.setdefault(event.job, (state, journal.now()))


def check_changes(journal: Journal) -> dict[str, str]:
    """Check that each reported transition is legal; return the last reported state of each job."""
    last: dict[str, str] = {}
    for seq in sorted(journal.events):
        type, job, came_from, state = journal.events[seq]
        if type != "job_state_changed" or job is None or state is None:
            continue
        journal.checked("legal changes")
        before = last.get(job)
        if came_from is not None and before is not None and came_from != before:
            journal.violate("events", f"{seq}: {job} was {before}, and changed from {came_from}")
        if came_from is not None and State(state) not in TRANSITIONS[State(came_from)]:
            journal.violate("events", f"{seq}: {job} went from {came_from} to {state}")
        last[job] = state
    return last

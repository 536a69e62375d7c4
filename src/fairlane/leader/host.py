"""The process that a leader leads in."""

from collections.abc import Mapping
from typing import Protocol

from fairlane.cluster.fleet import MessageRef
from fairlane.core.decisions import Decisions, Start, Stop
from fairlane.core.inputs import Input
from fairlane.core.live_job import JobId
from fairlane.store.views import Payload


class LeaderHost(Protocol):
    """What the leader needs of its process: whom to tell, and what to begin with."""

    def joined(self) -> list[Input]:
        """Say which worker is ours and alive."""
        ...

    def declared(self, stored: Mapping[tuple[str, str], str]) -> list[Input]:
        """Say what the code declares, in the light of what is stored."""
        ...

    def unacknowledged_inputs(self) -> list[Input]:
        """Say again what our worker said and never heard to be durable or granted."""
        ...

    def is_own(self, worker: str) -> bool: ...

    def remove_half_written(self, payloads: Mapping[JobId, Payload]) -> None:
        """Remove what dead attempts left half written, before anybody starts again."""

    def discard(self, payloads: Mapping[JobId, Payload]) -> None:
        """Remove what cancelled jobs have made, because their canceller said so."""

    def outputs_on_other_hosts(
        self, payloads: Mapping[JobId, Payload], *, finished: bool
    ) -> list[tuple[str, dict[str, str]]]:
        """Return what of it lies on other hosts, each with its host."""
        ...

    def checks(self, task: str) -> bool:
        """Tell whether its jobs have to be looked at before they begin."""
        ...

    def check_preconditions_early(self, starts: list[tuple[Start, Payload]]) -> None:
        """Look at jobs that our worker is going to be given as soon as that is written."""

    def perform(
        self, decisions: Decisions, payloads: Mapping[JobId, Payload], written: MessageRef
    ) -> None: ...

    def found(self, tasks: set[str]) -> None:
        """These tasks have live jobs in the database."""

    def reloaded(self, stops: list[Stop]) -> None:
        """Anything may have happened meanwhile: look again, and repeat these stops."""

    def still_runs(self) -> bool:
        """Tell whether an attempt goes on here that could not be stopped."""
        ...

    def elected(self, *, leading: bool) -> None: ...

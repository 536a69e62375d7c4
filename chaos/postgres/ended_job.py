"""An ended job as the history of Fairlane shows it."""

from typing import Self

from msgspec import Struct

from fairlane.store.views import JobView


class EndedJob(Struct, omit_defaults=True):
    id: str
    queue: str
    state: str
    attempt: int = 0
    made: tuple[int, int] | None = None  # the process and the attempt that made the result
    error: str = ""
    started_at: float = 0.0  # when its last attempt was decided

    @classmethod
    def of(cls, view: JobView) -> Self:
        return cls(
            id=view.id,
            queue=view.queue,
            state=view.state,
            attempt=view.attempt,
            made=tuple(view.result) if view.result else None,
            error="" if view.error is None else view.error.code,
            started_at=0.0 if view.started_at is None else view.started_at.timestamp(),
        )

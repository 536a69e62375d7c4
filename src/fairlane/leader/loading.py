"""Loading of the scheduler from the database."""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from fairlane.core.scheduler import Scheduler
from fairlane.store.protocol import Image, Store

log = logging.getLogger("fairlane.leader")


async def load_scheduler(scheduler: Scheduler, store: Store, now: float) -> Image:
    """Fill a new scheduler with the stored state; return the image that was read."""
    with _garbage_collection_off():
        image = await store.load()
        scheduler.load(
            jobs=image.jobs,
            dependencies=image.dependencies,
            records=image.records,
            rate_starts=image.rate_starts,
            grants=image.grants,
            seq=image.seq,
            now=now,
        )
    if scheduler.unreadable:
        names = ", ".join(scheduler.unreadable)
        log.warning("stored settings that cannot be read are ignored: %s", names)
    return image


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Load without garbage collection: all the new objects stay, and scanning them takes as long
    as loading them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

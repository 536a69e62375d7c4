"""The bound of the CPU time for reading a page: patterns of yt-dlp need minutes on bad pages."""

import math
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.sources.request_meter import RequestMeter


@contextmanager
def bounded_cpu(meter: RequestMeter, seconds: float) -> Iterator[None]:
    """Interrupt the block after a CPU time; the system repeats the signal each second."""

    def refuse(*_: object) -> NoReturn:
        raise meter.refuse(
            ChildError(
                "unsupported_site",
                f"yt-dlp cannot read this page within {seconds:,.0f} seconds of CPU time: it is "
                "very long, or made to be slow; give the link of the media itself",
            )
        )

    before = resource.getrlimit(resource.RLIMIT_CPU)
    used = resource.getrusage(resource.RUSAGE_SELF)
    bound = math.ceil(used.ru_utime + used.ru_stime + seconds)
    if before[0] != resource.RLIM_INFINITY:
        bound = min(bound, before[0])
    signal.signal(signal.SIGXCPU, refuse)
    resource.setrlimit(resource.RLIMIT_CPU, (bound, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)

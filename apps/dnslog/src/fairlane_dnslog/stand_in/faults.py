"""Faults that a test or an operator switches on: `PUT /stand-in/faults` with a list of them."""

import threading
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

Kind = Literal[
    "status",  # answer with `status`
    "delay",  # answer after `seconds`
    "drip",  # send one byte of the body every `seconds`
    "drip_head",  # the same, from the first byte of the head
    "html",  # answer with a page for people
    "redirect",  # answer with 302 to `target`
    "oversize",  # send `size` bytes of JSON
    "malformed",  # break the JSON off
    "wrong_types",  # send numbers for texts, and lists for objects
    "endless",  # invent an older page to every page
    "repeat",  # answer every page with the first one
    "empty_pages",  # send no rows, but an `oldest`
    "drop",  # close the connection without an answer
    "cut",  # close the connection within the body
    "flush",  # hide `hidden` rows behind the newest `size`: AdGuard writes them to its file
]


class Fault(Struct, kw_only=True):
    """One fault, for the paths that begin with `path`, for `times` requests or for ever."""

    kind: Kind
    path: str = "/control/"
    times: Annotated[int, Meta(ge=1)] | None = None
    status: Annotated[int, Meta(ge=200, le=599)] = 503
    seconds: Annotated[float, Meta(ge=0, le=3600)] = 60.0
    target: str = "http://other.example/control/querylog"
    hidden: Annotated[int, Meta(ge=0, le=100_000)] = 1000
    size: Annotated[int, Meta(ge=0, le=1 << 30)] = 100 * 1024 * 1024


class FaultPlan:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self.released = threading.Event()  # ends all delays, when the stand-in stops

    def set(self, faults: Sequence[Fault]) -> None:
        """Replace all faults."""
        with self._lock:
            self._faults = list(faults)

    def active(self) -> list[Fault]:
        with self._lock:
            return list(self._faults)

    def pop(self, path: str) -> Fault | None:
        """Return the fault of a request, and count it."""
        with self._lock:
            for fault in self._faults:
                if path.startswith(fault.path):
                    if fault.times is not None:
                        fault.times -= 1
                        if fault.times == 0:
                            self._faults.remove(fault)
                    return fault
        return None

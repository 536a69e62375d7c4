"""The address space of this process, compared with its bound."""

import resource
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")
_REMAINDER: Final = 0.4  # of the bound: a failed allocation can be as large as the model


def is_nearly_full() -> bool:
    """Return whether an error can be explained by an allocation that the bound refused."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return False
    used = used_bytes()
    return used is None or used > limit * (1 - _REMAINDER)


def used_bytes() -> int | None:
    """Return the size of the address space; None where the system does not report it."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith("VmSize:")]
    return int(sizes[0]) * 1024 if sizes else None

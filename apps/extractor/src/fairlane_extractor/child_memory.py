"""The bound on the memory of a child process, and the errors that it explains.

Native libraries report a refused allocation in many ways: by a signal, by an error of their own, or
as a file that cannot be read.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_SIGNS: Final = ("bad_alloc", "bad allocation", "allocate memory", "insufficient memory")
_STATUS: Final = Path("/proc/self/status")
_FULL_SHARE: Final = 0.6  # of the bound: a refused allocation can be as large as a model


def bound_memory(limit: int | None) -> None:
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the bound of this process explains an error."""
    if isinstance(error, MemoryError):
        return True
    text = str(error).casefold()
    return any(sign in text for sign in _SIGNS) or _is_nearly_full()


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise `MemoryError` for an error that the bound of this process explains."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, MemoryError) and is_out_of_memory(error):
            raise MemoryError from error
        raise


def _is_nearly_full() -> bool:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _used_bytes()
    return limit != resource.RLIM_INFINITY and used is not None and used > _FULL_SHARE * limit


def _used_bytes() -> int | None:
    """Return the size of the address space; None where the system does not report it."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith("VmSize:")]
    return int(sizes[0]) * 1024 if sizes else None

"""Recognise a failed allocation, which native libraries report in many ways."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_SIGNS: Final = ("bad_alloc", "bad allocation", "allocate memory", "insufficient memory")
_STATUS: Final = Path("/proc/self/status")
_FULL_SHARE: Final = 0.6  # of the bound: a refused allocation can be as large as a model


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise `MemoryError` for an error that the bound of this process explains."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        text = str(error).casefold()
        if any(sign in text for sign in _SIGNS) or _is_nearly_full():
            raise MemoryError from error
        raise


def _is_nearly_full() -> bool:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or not _STATUS.exists():
        return False
    sizes = [line.split()[1] for line in _STATUS.read_text().splitlines() if "VmSize:" in line]
    return bool(sizes) and int(sizes[0]) * 1024 > _FULL_SHARE * limit

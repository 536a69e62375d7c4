"""Hide the parts of Linux that macOS lacks from every Python that finds this folder on its path.

The names are deleted, `/proc` cannot be opened or listed, and `sys.platform` says darwin. The
operating system below stays Linux, so this finds uses without a fallback, not differences in
behaviour.
"""

import os
import signal
import sys
import sysconfig
import time
import types
from typing import Any

_NAMES = (
    (time, "CLOCK_BOOTTIME"),
    (os, "pidfd_open"),
    (os, "sched_getaffinity"),
    (os, "memfd_create"),
    (os, "eventfd"),
    (signal, "pidfd_send_signal"),
)
_EVENTS = frozenset({"open", "os.listdir", "os.scandir"})
_access = os.access


def hide() -> None:
    for module, name in _NAMES:
        if hasattr(module, name):
            delattr(module, name)
    os.access = _access_without_proc
    sys.addaudithook(_refuse_proc)
    # The standard library imports this module on macOS, to ask the system for its proxies.
    proxies: Any = types.ModuleType("_scproxy")
    proxies._get_proxies, proxies._get_proxy_settings = dict, dict
    sys.modules["_scproxy"] = proxies
    sysconfig.get_config_vars()  # read while it still finds the description of this Python
    sys.platform = "darwin"


def _is_proc(path: object) -> bool:
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return isinstance(path, str) and (path == "/proc" or path.startswith("/proc/"))


def _refuse_proc(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS and arguments and _is_proc(arguments[0]):
        raise FileNotFoundError(2, os.strerror(2), arguments[0])


def _access_without_proc(path: Any, mode: int, **options: Any) -> bool:
    return not _is_proc(path) and _access(path, mode, **options)


hide()

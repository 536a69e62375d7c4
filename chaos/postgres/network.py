"""A separate network for some of the processes, which can be cut and reconnected.

A bridge connects it to the server. A cut takes its cable off the bridge: packets of both sides
vanish silently, as when a remote machine is lost.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

from chaos.bad_disks import Unsupported

PATIENCE_SECONDS: Final = 10.0


class Network:
    def __init__(self) -> None:
        number = os.getpid() % 65_536
        self._namespace = f"chaos-{number}"
        self._bridge = f"chb{number}"
        self._cable = f"chc{number}"
        self._subnet = f"198.18.{number % 254 + 1}"  # reserved for benchmark tests (RFC 2544)

    @property
    def server(self) -> str:
        """Return the address of the server, as seen from inside."""
        return f"{self._subnet}.1"

    @property
    def within(self) -> tuple[str, ...]:
        """Return the command prefix that runs a program inside."""
        return ("ip", "netns", "exec", self._namespace)

    @classmethod
    @contextmanager
    def made(cls) -> Iterator[Self]:
        """Create the network for the duration of the block; raise Unsupported where that is not
        allowed."""
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise Unsupported("a network can only be cut by root, with the program ip")
        network = cls()
        try:
            network._make()
            yield network
        finally:
            network._remove()

    def _make(self) -> None:
        inside = f"{self._cable}i"
        _run("netns", "add", self._namespace)
        _run("link", "add", self._bridge, "type", "bridge")
        _run("addr", "add", f"{self.server}/24", "dev", self._bridge)
        _run("link", "set", self._bridge, "up")
        _run("link", "add", self._cable, "type", "veth", "peer", "name", inside)
        _run("link", "set", inside, "netns", self._namespace)
        _run("link", "set", self._cable, "master", self._bridge, "up")
        _run("-n", self._namespace, "addr", "add", f"{self._subnet}.2/24", "dev", inside)
        _run("-n", self._namespace, "link", "set", inside, "up")

    def _remove(self) -> None:
        for words in (
            ("link", "delete", self._cable),
            ("link", "delete", self._bridge),
            ("netns", "delete", self._namespace),
        ):
            try:
                _run(*words)
            except Unsupported:
                pass  # it was never created

    def cut(self) -> None:
        _run("link", "set", self._cable, "nomaster")

    def mend(self) -> None:
        _run("link", "set", self._cable, "master", self._bridge)


def _run(*words: str) -> None:
    done = subprocess.run(  # noqa: S603 - words of our own
        ["ip", *words],  # noqa: S607 - the one that the machine has
        capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    if done.returncode:
        raise Unsupported(f"ip {' '.join(words)}: {done.stderr.strip()}")

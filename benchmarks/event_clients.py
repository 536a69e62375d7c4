"""Clients that follow the events of a server, in a separate process.

They must be light, or they would measure themselves: each client counts the events of a received
chunk and uses the age of the oldest for all of them. After a `resync` a client reads the state
again, as every client should. Silent clients request events and never read them.
"""

import argparse
import json
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

_AT: Final = b'"at":"'
_EVENT: Final = b"\nid: "
_RESYNC: Final = b"event: resync"
_SWALLOW: Final = 1 << 18
_REQUEST: Final = "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"


@dataclass
class Seen:
    """The totals of all clients."""

    events: int = 0
    bytes: int = 0
    resyncs: int = 0
    states: int = 0
    lost: int = 0  # connections that the server ended
    ages: list[tuple[float, int]] = field(default_factory=list)  # age in seconds, number of events

    def figures(self) -> dict[str, float]:
        ages, counted = sorted(self.ages), sum(count for _, count in self.ages)
        found: dict[str, float] = {
            "events": self.events,
            "megabytes": self.bytes / 1e6,
            "resyncs": self.resyncs,
            "states": self.states,
            "lost": self.lost,
        }
        for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99), ("worst_ms", 1.0)):
            below = 0
            for seconds, count in ages:
                below += count
                if below >= share * counted:
                    found[name] = 1000 * seconds
                    break
        return found


class Follower:
    def __init__(self, crowd: "EventClients") -> None:
        self._crowd = crowd
        self._end = b""
        self.socket = crowd.connected("/api/events")

    def hear(self) -> None:
        seen, received = self._crowd.seen, self.socket.recv(_SWALLOW)
        now = time.time()
        if not received:
            seen.lost += 1
            self._crowd.forget(self.socket)
            return
        seen.bytes += len(received)
        text = self._end + received
        self._end = text[-len(_EVENT) :] if len(text) > len(_EVENT) else b""
        events = text.count(_EVENT) - self._end.count(_EVENT)
        if not events:
            return
        seen.events += events
        age = _age(text, now)
        if age is not None:
            seen.ages.append((age, events))
        if _RESYNC in text:
            seen.resyncs += 1
            Visitor(self._crowd)


class Visitor:
    """A client that reads the state once and disconnects."""

    def __init__(self, crowd: "EventClients") -> None:
        self._crowd = crowd
        self._received = b""
        self.socket = crowd.connected("/api/state")
        crowd.heed(self.socket, self.hear)

    def hear(self) -> None:
        received = self.socket.recv(_SWALLOW)
        self._received += received
        head, _, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not received or (length and len(body) >= int(length)):
            self._crowd.seen.states += 1
            self._crowd.forget(self.socket)


def _age(text: bytes, now: float) -> float | None:
    start = text.find(_AT)
    end = text.find(b'"', start + len(_AT))
    if start < 0 or end < 0:
        return None
    at = datetime.fromisoformat(text[start + len(_AT) : end].decode())
    return now - at.timestamp()


class EventClients:
    def __init__(self, port: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()
        self.seen = Seen()
        self.is_enough = False

    def connected(self, path: str) -> socket.socket:
        found = socket.create_connection(("127.0.0.1", self._port))
        found.sendall(_REQUEST.format(path=path, port=self._port).encode())
        return found

    def heed(self, one: socket.socket, hear: Any) -> None:
        self._selector.register(one, selectors.EVENT_READ, hear)

    def forget(self, one: socket.socket) -> None:
        self._selector.unregister(one)
        one.close()

    def gather(self, *, clients: int, silent: int) -> list[socket.socket]:
        """Connect all clients; a client counts once it has received data."""
        followers = [Follower(self) for _ in range(clients)]
        for follower in followers:
            follower.hear()
            self.heed(follower.socket, follower.hear)
        self.seen = Seen()
        return [self.connected("/api/events") for _ in range(silent)]

    def listen(self) -> None:
        while not self.is_enough:
            for key, _ in self._selector.select(0.1):
                key.data()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--silent", type=int, default=0)
    asked = parser.parse_args()
    crowd = EventClients(asked.port)
    silent = crowd.gather(clients=asked.clients, silent=asked.silent)
    print("ready", flush=True)

    def wait() -> None:
        sys.stdin.readline()
        crowd.is_enough = True

    threading.Thread(target=wait, daemon=True).start()
    crowd.listen()
    processor = time.process_time()
    print(json.dumps({**crowd.seen.figures(), "processor_seconds": processor}), flush=True)
    del silent


class ClientProcess:
    """The process with the clients, as the serving program sees it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def is_ready(self) -> bool:
        """Wait until all clients follow."""
        assert self._process.stdout is not None
        return self._process.stdout.readline() == "ready\n"

    def ask(self) -> dict[str, float]:
        """Disconnect all clients and return their totals."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print("enough", file=self._process.stdin, flush=True)
        found: dict[str, float] = json.loads(self._process.stdout.readline())
        return found


@contextmanager
def running_clients(*, port: int, clients: int, silent: int = 0) -> Iterator[ClientProcess]:
    """Start the clients, and end them with the block."""
    command = [sys.executable, "-m", __spec__.name, "--port", str(port)]
    command += ["--clients", str(clients), "--silent", str(silent)]
    process = subprocess.Popen(  # noqa: S603 - our own words
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield ClientProcess(process)
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()

"""A pipe that wakes a thread which waits for sockets."""

import os
import threading


class WakePipe:
    """Descriptor `reader` is readable after `wake`, until `drain`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)
        self._is_open = True

    def wake(self) -> None:
        with self._lock:
            if self._is_open:
                try:
                    os.write(self._writer, b".")
                except BlockingIOError:
                    pass  # the pipe is full, so the thread wakes up anyway

    def drain(self) -> None:
        try:
            os.read(self.reader, 65536)
        except BlockingIOError:
            pass  # it was empty

    def close(self) -> None:
        with self._lock:
            if self._is_open:
                self._is_open = False
                os.close(self.reader)
                os.close(self._writer)

    def leave_after_fork(self) -> None:
        """Close the copies of a child; the lock may be held by a thread that it does not have."""
        self._lock = threading.Lock()
        self.close()

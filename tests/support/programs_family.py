"""A program with a family: `programs_family.py FOLDER [stubborn] [leave]`.

Each member writes its process id to a file named for it and then waits for ever. With `stubborn`
all of them ignore SIGTERM; with `leave` the program itself exits once its family stands.
"""

import os
import signal
import sys
import time
from pathlib import Path

MEMBERS = ("program", "child", "grandchild", "other_session", "daemon")


def main(folder: Path, *options: str) -> None:
    if "stubborn" in options:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        if os.fork() == 0:
            live(folder, "grandchild")
        live(folder, "child")
    if os.fork() == 0:
        os.setsid()
        live(folder, "other_session")
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork() == 0:
            live(folder, "daemon")
        os._exit(0)
    os.waitpid(middle, 0)
    if "leave" in options:
        write(folder, "program")
        while not all((folder / member).exists() for member in MEMBERS):
            time.sleep(0.005)
        sys.exit(7)
    live(folder, "program")


def live(folder: Path, member: str) -> None:
    write(folder, member)
    while True:
        signal.pause()


def write(folder: Path, member: str) -> None:
    unfinished = folder / f".{member}"
    unfinished.write_text(str(os.getpid()))
    unfinished.rename(folder / member)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

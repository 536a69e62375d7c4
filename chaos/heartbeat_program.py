"""A program that a job runs: `heartbeat_program.py JOURNAL PROGRAM JOB ATTEMPT SECONDS`.

It writes a heartbeat every few milliseconds, so that the journal shows when it really ended. It
imports only three small modules, because hundreds of it are started.
"""

import os
import sys
import time

PAUSE_SECONDS = 0.01


def main(journal: str, program: str, job: str, attempt: str, seconds: str) -> None:
    descriptor = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        at = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        line = (
            f'{{"what":"beat","at":{at},"pid":{os.getpid()},"program":{program},'
            f'"job":"{job}","attempt":{attempt}}}\n'
        )
        os.write(descriptor, line.encode())
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])

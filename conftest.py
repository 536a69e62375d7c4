"""What all tests share, those of Fairlane and those of the programs built on it."""

import os
import signal

# Who runs tests under nohup, or behind a shell, may have them ignore these, and so would what they
# start: some programs are there to be interrupted.
for _number, _usual in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than cores: many tests wait for processes and browsers."""
    return (os.cpu_count() or 1) + 1

"""A task in a module that a child process imports slowly."""

import os
import time

from fairlane.process.child_pool import IN_CHILD

if os.environ.get(IN_CHILD):
    time.sleep(0.6)


async def returns_at_once() -> str:
    return "done"

"""A module that starts its engine when it is imported, as small programs do.

Its task runs in a child process, which imports it once more and must not start a second engine.
"""

import json
import os
import sys
import threading

from fairlane import Fairlane

app = Fairlane(f"sqlite:///{os.environ['PROCESS_APP_FOLDER']}/work.db", stop_grace_seconds=0)


@app.task(isolation="process")
def engines() -> list[str]:
    """Return the threads of this process, by name."""
    return sorted(thread.name for thread in threading.enumerate())


app.start()

if __name__ == "__main__":
    ran = app.sync.submit(engines.call()).wait(timeout_seconds=20)
    sys.stdout.write(json.dumps(ran) + "\n")
    app.stop()

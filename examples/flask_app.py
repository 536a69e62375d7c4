"""A Flask program under gunicorn, on PostgreSQL: every worker submits and works, one of them leads.

    FAIRLANE_DATABASE=postgresql://… gunicorn -w 4 --threads 4 examples.flask_app:web

Kill any of the four processes: the other three continue, also if it was the leader.
"""

import os
import time

from flask import Flask, jsonify, request
from flask.typing import ResponseReturnValue

from fairlane import Fairlane, SyncContext

app = Fairlane(slots=8)
app.queue("downloads", max_concurrent=6)
web = Flask(__name__)


@app.task(queue="downloads", lane="{account}")
def download(ctx: SyncContext, account: str, pages: int = 3) -> dict[str, int]:
    """Pretend to download; two jobs of one account never run at once, in any process."""
    for page in range(pages):
        ctx.progress(100 * page / pages, f"page {page + 1} of {account}")
        time.sleep(0.05)
    return {"pages": pages, "process": os.getpid()}


app.schedule("refresh", download.call(account="everybody", pages=1), every_seconds=5)
app.start()  # in every worker; harmless to repeat, and safe after a fork


@web.post("/downloads")
def submit() -> ResponseReturnValue:
    job = app.sync.submit(download.call(account=str(request.args.get("account", "anna"))))
    return jsonify(id=job.id), 201


@web.get("/downloads/<id>")
def show(id: str) -> ResponseReturnValue:
    view = app.sync.jobs.show(id)
    return jsonify(state=view.state, percent=view.progress.percent, result=view.result)


@web.get("/")
def home() -> ResponseReturnValue:
    return jsonify(
        process=os.getpid(), leader=app.sync.workers.leader(), counts=app.sync.snapshot().counts
    )

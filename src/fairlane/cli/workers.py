"""`fairlane workers`: where jobs run."""

from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal


async def workers(steering: ApiClient, terminal: Terminal) -> None:
    """List the places where jobs run now."""
    answer = await steering.get("/api/workers")
    if terminal.as_json:
        terminal.value(answer)
    elif not answer["items"]:
        terminal.say("no workers")
    else:
        rows = [
            (
                worker["name"], str(worker["slots"]), ", ".join(worker["queues"] or ["all"]),
                ", ".join(worker["labels"]),
                "" if worker["accepting"] else worker["note"] or "stopping",
            )
            for worker in answer["items"]
        ]  # fmt: skip
        terminal.table(("WORKER", "SLOTS", "QUEUES", "LABELS", ""), rows)

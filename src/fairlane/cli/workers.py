"""`fairlane workers`: the processes that run jobs."""

from fairlane.cli.api_client import ApiClient
from fairlane.cli.terminal import Terminal


async def workers(client: ApiClient, terminal: Terminal) -> None:
    """List the processes that run jobs now."""
    page = await client.get("/api/workers")
    if terminal.as_json:
        terminal.print_json(page)
    elif not page["items"]:
        terminal.print_line("no workers")
    else:
        rows = [
            (
                worker["name"], str(worker["slots"]), ", ".join(worker["queues"] or ["all"]),
                ", ".join(worker["labels"]),
                "" if worker["accepting"] else worker["note"] or "stopping",
            )
            for worker in page["items"]
        ]  # fmt: skip
        terminal.print_table(("WORKER", "SLOTS", "QUEUES", "LABELS", ""), rows)

"""`fairlane explain`: the reasons why a job waits."""

from fairlane.cli.api_client import ApiClient
from fairlane.cli.jobs import Job
from fairlane.cli.paths import job_path
from fairlane.cli.terminal import Terminal, styled_state
from fairlane.cli.times import format_clock, format_relative


async def explain(client: ApiClient, terminal: Terminal, job: Job) -> None:
    """Explain why a job waits: its place, the reasons, and when it should start."""
    why = await client.get(job_path(job, "explain"))
    if terminal.as_json:
        terminal.print_json(why)
        return
    place = f", {_ordinal(why['place'])} in line" if why["place"] else ""
    terminal.print_line(f"{why['job']} is ", styled_state(why["state"]), place)
    for reason in why["reasons"]:
        terminal.print_line(f"  · {reason['message']}")
    if why["place"]:
        queue = (await client.get(job_path(job)))["queue"]
        foreseen = (await client.get("/api/forecast", queue=queue, limit=1000))["items"]
        starts = next((item["starts_at"] for item in foreseen if item["job"] == job), None)
        if starts is not None:
            terminal.print_line(
                f"it should start {format_relative(starts)}, at {format_clock(starts)}"
            )


def _ordinal(number: int) -> str:
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"

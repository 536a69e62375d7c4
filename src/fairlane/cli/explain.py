"""`fairlane explain`: why a job waits, in words."""

from fairlane.cli.jobs import Job
from fairlane.cli.paths import job_path
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal, state
from fairlane.cli.times import clock, relative


async def explain(steering: ApiClient, terminal: Terminal, job: Job) -> None:
    """Say why a job waits: its place, everything in its way, and when it should start."""
    why = await steering.get(job_path(job, "explain"))
    if terminal.as_json:
        terminal.value(why)
        return
    place = f", {_ordinal(why['place'])} in line" if why["place"] else ""
    terminal.say(f"{why['job']} is ", state(why["state"]), place)
    for reason in why["reasons"]:
        terminal.say(f"  · {reason['message']}")
    if why["place"]:
        queue = (await steering.get(job_path(job)))["queue"]
        foreseen = (await steering.get("/api/forecast", queue=queue, limit=1000))["items"]
        starts = next((item["starts_at"] for item in foreseen if item["job"] == job), None)
        if starts is not None:
            terminal.say(f"it should start {relative(starts)}, at {clock(starts)}")


def _ordinal(number: int) -> str:
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"

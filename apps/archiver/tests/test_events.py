"""What a page follows: a snapshot with its number, then the events after it."""

import json
from typing import Any

from apps.archiver.tests.archiver import Archiver
from apps.archiver.tests.mastodon_server import MastodonServer


def test_counts_are_streamed_and_a_page_that_was_cut_off_takes_up_where_it_was(
    archiver: Archiver, server: MastodonServer
) -> None:
    account = server.name("streamed")
    for number in range(45):
        server.post("streamed", f"{number}.jpg")
    server.hold("streamed", size=200_000, sent=100_000)
    archiver.save(account)
    state = archiver.ask("GET", "/api/state")
    job = archiver.start(account)
    seen: list[dict[str, Any]] = []

    def follow(after: int, until: str) -> int:
        """Read events until one shows this; return the number of the last."""
        with archiver.client.stream("GET", "/api/events", params={"after": after}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    event = json.loads(line[5:])
                    if event["seq"] > after and event.get("job") == job["id"]:
                        seen.append(event)
                    if until in line and event.get("job") == job["id"]:
                        return int(event["seq"])
        raise AssertionError("the stream ended")

    last = follow(state["seq"], '"rate"')
    server.open("streamed")
    follow(last, '"completed"')
    numbers = [event["seq"] for event in seen]
    assert numbers == sorted(set(numbers))
    kinds = {event["type"] for event in seen}
    assert {"job_state_changed", "job_progress"} <= kinds
    told = [event["data"]["statistics"] for event in seen if event["type"] == "job_progress"]
    assert set(told[-1]) >= {
        "downloaded", "skipped", "filtered", "failed", "bytes", "rate", "page", "cursor",
    }  # fmt: skip
    assert told[-1]["downloaded"] == 46
    assert [one["downloaded"] for one in told] == sorted(one["downloaded"] for one in told)
    after = archiver.ask("GET", "/api/state")
    assert after["seq"] >= numbers[-1]

"""The events of a page: a snapshot with its number, then the events after it."""

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
    newest = archiver.newest_event()
    job = archiver.start(account)
    seen = archiver.events(job, after=newest, until='"rate"')
    server.open("streamed")
    seen += archiver.events(job, after=seen[-1]["seq"], until='"completed"')
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
    assert archiver.newest_event() >= numbers[-1]

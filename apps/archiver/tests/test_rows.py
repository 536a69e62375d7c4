"""One row per account: its runs, one at a time, and its lock while it is active."""

import pytest

from apps.archiver.tests.archiver import Archiver, soon
from apps.archiver.tests.mastodon_server import MastodonServer


def test_a_run_has_an_id_a_kind_a_snapshot_of_its_parameters_and_its_counts(
    archiver: Archiver, server: MastodonServer
) -> None:
    account = server.name("snapshot")
    server.post("snapshot", "a.jpg", "b.jpg")
    archiver.save(account, replies=False, since="2020-01-01")
    first = archiver.ended(archiver.start(account))
    archiver.save(account, replies=True)
    second = archiver.ended(archiver.go_on(account))
    assert first["id"] != second["id"]
    assert (first["lane"], first["kind"], second["kind"]) == (account, "start", "continue")
    assert (first["params"]["replies"], first["params"]["since"]) == (False, "2020-01-01")
    # Independent of later changes of the row.
    assert archiver.job(first["id"])["params"] == first["params"]
    assert second["params"]["replies"] is True
    size = sum(len(body) for path, body in server.files.items() if "/snapshot/" in path)
    counts = {"downloaded": 2, "skipped": 0, "filtered": 0, "failed": 0, "bytes": size}
    assert first["result"] == counts
    assert first["statistics"].items() >= counts.items()


def test_every_state_of_a_row_is_seen(archiver: Archiver, server: MastodonServer) -> None:
    account, missing = server.name("states"), server.name("nobody")
    server.hold("states")
    archiver.save(account)
    assert archiver.row(account)["state"] == "idle"
    archiver.limit(0)
    job = archiver.start(account)
    assert archiver.row(account)["state"] == "queued"
    archiver.limit(None)
    soon(lambda: archiver.row(account)["state"] == "running", what="running")
    server.open("states")
    archiver.done(job)
    assert archiver.row(account)["state"] == "done"
    archiver.save(missing)
    ended = archiver.ended(archiver.start(missing))
    assert archiver.row(missing)["state"] == "failed"
    assert f"there is no @nobody on {server.host}" in ended["error"]["message"]
    archiver.save(missing)  # unlocked again


def test_a_second_start_answers_409_with_the_active_job_and_the_row_is_locked(
    archiver: Archiver, server: MastodonServer
) -> None:
    account, other = server.name("locked"), server.name("other")
    server.hold("locked")
    archiver.save(account, most=7)
    archiver.save(other, most=3)
    archiver.limit(0)
    job = archiver.start(account)
    for state in ("queued", "running"):
        soon(lambda s=state: archiver.row(account)["state"] == s, what=state)  # type: ignore[misc]
        for verb in ("start", "continue"):
            refused = archiver.start(account, status=409, verb=verb)
            assert (refused["code"], refused["active_job"]) == ("lane_busy", job["id"])
        # An edit is refused, and so is a copy of the filters of another row.
        copied = archiver.row(other)["params"]["params"] | {"account": account}
        for filters in ({"most": 8}, {k: v for k, v in copied.items() if k != "account"}):
            refused = archiver.save(account, status=409, **filters)
            assert (refused["code"], refused["active_job"]) == ("lane_locked", job["id"])
        assert archiver.row(account)["params"]["params"]["most"] == 7
        archiver.limit(None)
    server.open("locked")
    archiver.done(job)
    assert len([r for r in server.of("locked") if r.path.endswith("lookup")]) == 1
    copied = archiver.row(other)["params"]["params"]
    archiver.save(account, **{k: v for k, v in copied.items() if k != "account"})
    assert archiver.row(account)["params"]["params"]["most"] == 3


def test_an_account_has_one_row_however_it_is_written(
    archiver: Archiver, server: MastodonServer
) -> None:
    account = server.name("one")
    server.post("one", "a.jpg")
    shouted = account.replace("/@one", "/@ONE")
    job = archiver.ask(
        "POST", "/api/jobs", json={"task": "archive", "params": {"account": shouted}}, status=201
    )
    assert job["lane"] == account
    archiver.done(job)
    body = {"task": "archive", "params": {"account": account}}
    archiver.ask("PUT", "/api/lanes/archive", params={"lane": "alias"}, json=body)
    ended = archiver.ended(archiver.start("alias"))
    assert (ended["state"], ended["error"]["code"]) == ("failed", "wrong_account")
    refused = archiver.save("what is this", status=422)
    assert "is not an account" in refused["detail"]


@pytest.mark.parametrize(
    "filters", [{"kinds": []}, {"kinds": ["image"] * 1_000}, {"min_bytes": 1 << 63}]
)
def test_a_row_that_asks_for_nothing_or_beyond_bounds_is_refused(
    archiver: Archiver, server: MastodonServer, filters: dict[str, object]
) -> None:
    archiver.save(server.name("bounds"), **filters, status=422)

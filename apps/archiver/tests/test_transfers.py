"""Real servers: slow, broken, busy, and wrong about their files."""

import base64
import hashlib
import os
from datetime import UTC, datetime, timedelta

import pytest

from apps.archiver.tests.archiver import Archiver, archiving, soon
from apps.archiver.tests.mastodon_server import Exchange, MastodonServer, Request, mastodon

MIB = 1024 * 1024


def test_a_transfer_that_breaks_goes_on_by_range(
    archiver: Archiver, server: MastodonServer
) -> None:
    body = os.urandom(MIB)
    [path] = server.post("broken", "big.bin", body=body)

    async def breaks_twice(exchange: Exchange) -> None:
        number = exchange.request.number
        if number <= 2:
            await server.file(exchange, body, until=number * 400_000)
            exchange.writer.close()
            exchange.keeps = False
        else:
            await server.file(exchange, body)

    server.handlers[path] = breaks_twice
    counts = archiver.archived(server.name("broken"))
    assert (counts["downloaded"], counts["failed"]) == (1, 0)
    assert list(archiver.files("broken").values()) == [body]
    first, second, third = server.asked(path)
    assert (first.status, second.status, third.status) == (200, 206, 206)
    assert (second.range_from, third.range_from) == (400_000, 800_000)
    assert archiver.parts() == []


def test_a_file_that_changed_meanwhile_is_fetched_from_the_beginning(
    archiver: Archiver, server: MastodonServer
) -> None:
    old, new = os.urandom(300_000), os.urandom(200_000)
    [path] = server.post("changed", "file.bin", body=new)

    async def changes(exchange: Exchange) -> None:
        if exchange.request.number == 1:
            await server.file(exchange, old, until=150_000)
            exchange.cut()
        else:
            await server.file(exchange, new)

    server.handlers[path] = changes
    archiver.archived(server.name("changed"))
    assert list(archiver.files("changed").values()) == [new]
    assert server.asked(path)[-1].status == 200


def test_the_rest_of_another_version_or_place_is_not_put_behind_a_part(
    archiver: Archiver, server: MastodonServer
) -> None:
    """Some servers check `Range` alone, or not precisely."""
    old, new = os.urandom(300_000), os.urandom(300_000)
    [mixed] = server.post("mixed", "mixed.bin", body=new)
    [moved] = server.post("mixed", "moved.bin", body=new)

    async def sends_the_wrong_rest(exchange: Exchange) -> None:
        start = exchange.request.range_from
        if exchange.request.number == 1:
            await server.file(exchange, old, until=150_000)
            exchange.cut()
        elif start is None:
            await server.file(exchange, new)
        else:
            start -= 7 if exchange.request.path == moved else 0
            span = f"bytes {start}-{len(new) - 1}/{len(new)}"
            tags = {"ETag": '"new"'} if exchange.request.path == mixed else {}
            await exchange.answer(206, new[start:], {"Content-Range": span, **tags})

    server.handlers |= {mixed: sends_the_wrong_rest, moved: sends_the_wrong_rest}
    counts = archiver.archived(server.name("mixed"))
    assert (counts["downloaded"], counts["failed"]) == (2, 0)
    assert list(archiver.files("mixed").values()) == [new, new]
    assert [r.status for r in server.asked(mixed)] == [200, 206, 200]
    assert [r.status for r in server.asked(moved)] == [200, 206, 200]


def test_an_account_has_four_downloads_at_a_time_and_no_more(
    archiver: Archiver, server: MastodonServer
) -> None:
    paths = server.post("several", *(f"{number}.jpg" for number in range(12)))

    async def waits(exchange: Exchange) -> None:
        await server.wait("several")
        await server.file(exchange, exchange.request.path.encode())

    server.handlers |= dict.fromkeys(paths, waits)
    archiver.save(server.name("several"))
    job = archiver.start(server.name("several"))

    def asked() -> list[Request]:
        return [request for request in server.of("several") if request.path in paths]

    soon(lambda: len(asked()) >= 4, what="four downloads")
    server.open("several")
    assert archiver.done(job)["downloaded"] == 12
    crowds = [
        sum(o.began_at <= one.began_at < (o.ended_at or 0.0) for o in asked()) for one in asked()
    ]
    assert max(crowds) == 4


def test_wrong_lengths_and_checksums_are_noticed(
    archiver: Archiver, server: MastodonServer
) -> None:
    body = b"the right bytes" * 100
    right = base64.b64encode(hashlib.sha256(body).digest()).decode()
    digest = {"Repr-Digest": f"sha-256=:{right}:"}
    [healed] = server.post("wrong", "healed.bin", body=body)
    [short] = server.post("wrong", "short.bin")
    [false] = server.post("wrong", "false.bin")
    [md5] = server.post("wrong", "md5.bin")

    async def heals(exchange: Exchange) -> None:
        said = b"other bytes!!!!" * 100 if exchange.request.number == 1 else body
        await exchange.answer(200, said, digest)

    async def is_short(exchange: Exchange) -> None:
        await exchange.head(200, {"Content-Length": 500})
        await exchange.send(b"x" * 100)
        exchange.writer.close()
        exchange.keeps = False

    async def is_false(exchange: Exchange) -> None:
        await exchange.answer(200, b"never the right ones", digest)

    async def has_md5(exchange: Exchange) -> None:
        stated = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        await exchange.answer(200, body, {"Content-MD5": stated})

    server.handlers |= {healed: heals, short: is_short, false: is_false, md5: has_md5}
    counts = archiver.archived(server.name("wrong"))
    assert (counts["downloaded"], counts["failed"]) == (2, 2)
    assert set(archiver.files("wrong").values()) == {body}
    assert [len(server.asked(path)) for path in (healed, short, false)] == [2, 4, 4]
    log = archiver.ask("GET", f"/api/jobs/{archiver.row(server.name('wrong'))['last_job']}/log")
    told = " ".join(line["message"] for line in log["items"])
    assert "sha-256 is not the one that the server states" in told
    assert "short.bin: the connection broke" in told
    assert archiver.parts() == []

    del server.handlers[short], server.handlers[false]  # they have recovered
    again = archiver.done(archiver.go_on(server.name("wrong")))
    assert (again["downloaded"], again["failed"]) == (2, 0)


def test_errors_of_the_server_are_waited_out_and_lasting_ones_are_not_asked_again(
    archiver: Archiver, server: MastodonServer
) -> None:
    [busy] = server.post("errors", "busy.jpg", body=b"at last")
    [gone] = server.post("errors", "gone.jpg")
    statuses = f"/api/v1/accounts/{server.accounts['errors'].id}/statuses"

    async def fails_twice(exchange: Exchange) -> None:
        if exchange.request.number <= 2:
            await exchange.answer(500 + exchange.request.number)
        elif exchange.request.path == statuses:
            await server.statuses(exchange, server.accounts["errors"].id)
        else:
            await server.file(exchange, b"at last")

    async def is_gone(exchange: Exchange) -> None:
        await exchange.answer(410)

    server.handlers |= {busy: fails_twice, statuses: fails_twice, gone: is_gone}
    counts = archiver.archived(server.name("errors"))
    assert (counts["downloaded"], counts["failed"]) == (1, 1)
    assert "410" in counts["trouble"]
    assert [len(server.asked(path)) for path in (busy, statuses, gone)] == [3, 3, 1]


@pytest.mark.parametrize("how", ["seconds", "date", "reset"])
def test_a_server_that_asks_for_a_pause_gets_it(
    archiver: Archiver, server: MastodonServer, how: str
) -> None:
    name = f"pause{how}"
    [path] = server.post(name, "a.jpg", body=b"x")
    asked_at = datetime.now(UTC)

    def in_http(seconds: float) -> str:
        return (asked_at + timedelta(seconds=seconds)).strftime("%a, %d %b %Y %H:%M:%S GMT")

    pauses = {
        "seconds": {"Retry-After": "1"},
        "date": {"Date": in_http(0), "Retry-After": in_http(1)},
        # The server's clock is far off; only the difference counts.
        "reset": {
            "Date": "Sat, 01 Jan 2000 00:00:00 GMT", "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": "2000-01-01T00:00:01.000000Z",
        },
    }  # fmt: skip

    async def is_busy(exchange: Exchange) -> None:
        if exchange.request.number == 1:
            await exchange.answer(429, b"", pauses[how])
        else:
            await server.file(exchange, b"x")

    server.handlers[path] = is_busy
    counts = archiver.archived(server.name(name))
    assert (counts["downloaded"], counts["failed"]) == (1, 0)
    first, second = server.asked(path)
    assert first.ended_at is not None
    assert second.began_at - first.ended_at >= 0.9
    log = archiver.ask("GET", f"/api/jobs/{archiver.row(server.name(name))['last_job']}/log")
    assert any("as 127.0.0.1" in line["message"] for line in log["items"])


def test_numbers_beyond_all_bounds_are_the_trouble_of_one_file(
    archiver: Archiver, server: MastodonServer
) -> None:
    [moment] = server.post("beyond", "moment.jpg", body=b"x")
    [length] = server.post("beyond", "length.jpg")
    [good] = server.post("beyond", "good.jpg")

    async def comes_back_never(exchange: Exchange) -> None:
        if exchange.request.number == 1:
            date = f"Mon, 01 Jan 2024 00:00:00 +{'9' * 20}"
            await exchange.answer(503, b"", {"Date": date, "Retry-After": date})
        else:
            await server.file(exchange, b"x")

    async def has_no_end(exchange: Exchange) -> None:
        await exchange.answer(206, b"x", {"Content-Range": f"bytes 0-0/{'9' * 5_000}"})

    server.handlers |= {moment: comes_back_never, length: has_no_end}
    counts = archiver.archived(server.name("beyond"))
    assert (counts["downloaded"], counts["failed"]) == (2, 1)
    assert "another part of the file" in counts["trouble"]
    assert server.files[good] in archiver.files("beyond").values()


def test_the_last_allowed_question_is_not_followed_by_another(
    archiver: Archiver, server: MastodonServer
) -> None:
    """A rate limit without remaining requests is obeyed before a request is refused."""
    for number in range(50):
        server.post("spent", f"{number}.jpg")
    server.api_headers = {
        "Date": "Sat, 01 Jan 2000 00:00:00 GMT", "X-RateLimit-Limit": "300",
        "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2000-01-01T00:00:01Z",
    }  # fmt: skip
    try:
        counts = archiver.archived(server.name("spent"))
    finally:
        server.api_headers = {}
    assert counts["downloaded"] == 50
    first, second = [r for r in server.of("spent") if r.path.endswith("statuses")]
    assert first.ended_at is not None
    assert second.began_at - first.ended_at >= 0.9


def test_a_pause_that_is_too_long_is_waited_out_by_the_queue(
    archiver: Archiver, server: MastodonServer
) -> None:
    """The slot is free for other accounts meanwhile."""
    server.post("hours", "a.jpg")
    path = f"/api/v1/accounts/{server.accounts['hours'].id}/statuses"
    with mastodon() as other:  # a host of its own, so that nobody else has to wait

        async def sends_away(exchange: Exchange) -> None:
            await exchange.answer(302, b"", {"Location": f"{other.url}/later"})

        async def later(exchange: Exchange) -> None:
            await exchange.answer(429, b"", {"Retry-After": "7200"})

        other.handlers["/later"] = later
        server.handlers[path] = sends_away
        with archiving(archiver.folder / "apart", server, other.host) as apart:
            account = server.name("hours")
            apart.save(account)
            job = apart.start(account)
            soon(lambda: apart.job(job["id"])["state"] == "retrying", what="a wait in the queue")
            shown = apart.job(job["id"])
            waits = datetime.fromisoformat(shown["due_at"]) - datetime.now(UTC)
            assert timedelta(hours=1) < waits <= timedelta(hours=2)
            assert len(other.asked("/later")) == 1


@pytest.mark.parametrize(
    ("seconds", "state"), [(7_200, "retrying"), (604_800, "completed")], ids=["hours", "days"]
)
def test_one_file_that_has_to_wait_for_long_keeps_no_other_from_being_saved(
    archiver: Archiver, server: MastodonServer, seconds: int, state: str
) -> None:
    """It is the first of two pages; at the end the queue waits hours for it, but not days."""
    name = f"patient{seconds}"
    for number in range(45):
        server.post(name, f"{number}.jpg")
    with mastodon() as other:  # a host of its own, so that nobody else has to wait

        async def later(exchange: Exchange) -> None:
            await exchange.answer(429, b"", {"Retry-After": seconds})

        other.handlers["/later.jpg"] = later
        server.post(name, urls=[f"{other.url}/later.jpg"])
        with archiving(archiver.folder / name, server, other.host) as apart:
            account = server.name(name)
            apart.save(account)
            job = apart.start(account)
            soon(lambda: apart.job(job["id"])["state"] == state, what=state)
            shown = apart.job(job["id"])
            assert (shown["statistics"]["downloaded"], shown["statistics"]["failed"]) == (45, 1)
            assert "asks not to be asked" in shown["statistics"]["trouble"]
            if state == "retrying":
                waits = datetime.fromisoformat(shown["due_at"]) - datetime.now(UTC)
                assert timedelta(hours=1) < waits <= timedelta(hours=2)
            assert len(apart.files(name)) == 45
            assert len(other.asked("/later.jpg")) == 1

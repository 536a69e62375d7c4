"""Part files: when a download resumes one, and when not."""

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from apps.archiver.tests.mastodon_server import Exchange, MastodonServer
from fairlane import Retryable
from fairlane_archiver.downloads import Download
from fairlane_archiver.errors import TransientError
from fairlane_archiver.network import Allowed, guarded_client
from fairlane_archiver.posts import Media
from fairlane_archiver.request_pace import RequestPace
from fairlane_archiver.settings import Settings
from fairlane_archiver.web_client import WebClient

Start = Callable[..., Download]


@pytest.fixture
async def download(server: MastodonServer, tmp_path: Path) -> AsyncIterator[Start]:
    settings = Settings(folder=tmp_path, spare_bytes=0, first_wait_seconds=0, tries=2)
    async with guarded_client(Allowed([server.host]), stall_seconds=60, at_once=1) as client:
        web = WebClient(
            client, RequestPace(longest_wait_seconds=0), settings, on_wait=lambda *_: None
        )

        def make(
            path: str,
            part: Path,
            *,
            validator: str | None = None,
            remember: Callable[[str | None], None] = lambda _: None,
            spare_bytes: int = 0,
        ) -> Download:
            return Download(
                Media(key="1", url=server.url + path), part, web=web,
                settings=replace(settings, spare_bytes=spare_bytes),
                validator=validator, min_bytes=0, remember=remember, arrived=lambda _: None,
            )  # fmt: skip

        yield make


async def test_a_part_of_earlier_survives_a_server_that_is_busy_at_first(
    download: Start, server: MastodonServer, tmp_path: Path
) -> None:
    body = os.urandom(300_000)
    tags: list[str | None] = []
    [path] = server.post("busyatfirst", "a.bin", body=body)
    part = tmp_path / "a.part"
    await download(path, part, remember=tags.append).run()
    part.write_bytes(body[:100_000])

    async def is_busy(exchange: Exchange) -> None:
        if exchange.request.number == 2:
            await exchange.answer(503)
        else:
            await server.file(exchange, body)

    server.handlers[path] = is_busy
    whole = await download(path, part, validator=tags[0]).run()
    assert [r.range_from for r in server.asked(path)] == [None, 100_000, 100_000]
    assert part.read_bytes()[: whole.kept] + whole.rest == body


async def test_of_a_part_that_is_whole_only_the_last_byte_is_fetched_again(
    download: Start, server: MastodonServer, tmp_path: Path
) -> None:
    """This is the state after a kill just before the file is renamed."""
    body = os.urandom(300_000)
    tags: list[str | None] = []
    [path] = server.post("wholepart", "a.bin", body=body)
    part = tmp_path / "a.part"
    await download(path, part, remember=tags.append).run()
    part.write_bytes(body)
    whole = await download(path, part, validator=tags[0]).run()
    assert [r.range_from for r in server.asked(path)] == [None, 300_000, 299_999]
    assert part.read_bytes()[: whole.kept] + whole.rest == body


async def test_a_transfer_that_gets_on_is_not_given_up_however_often_it_breaks(
    download: Start, server: MastodonServer, tmp_path: Path
) -> None:
    """Each try receives more bytes until the last quarter, which never arrives; only those tries
    count."""
    body = os.urandom(2_000_000)
    [path] = server.post("breaks", "a.bin", body=body)

    async def breaks(exchange: Exchange) -> None:
        start = exchange.request.range_from or 0
        await server.file(exchange, body, until=min(start + 300_000, 1_500_000))
        exchange.writer.close()
        exchange.keeps = False

    server.handlers[path] = breaks
    with pytest.raises(TransientError, match="the connection broke"):
        await download(path, tmp_path / "a.part").run()
    starts = [None, 300_000, 600_000, 900_000, 1_200_000, 1_500_000, 1_500_000]
    assert [r.range_from for r in server.asked(path)] == starts


async def test_bytes_of_another_version_are_gone_before_the_name_of_this_one_is_kept(
    download: Start, server: MastodonServer, tmp_path: Path
) -> None:
    """Otherwise a kill in between would mix two versions."""
    part = tmp_path / "a.part"
    part.write_bytes(b"of another version")
    there: list[bool] = []
    [path] = server.post("renewed", "a.bin", body=os.urandom(100_000))
    await download(
        path, part, validator='"other"', remember=lambda _: there.append(part.exists())
    ).run()
    assert there == [False]


async def test_a_disk_that_is_full_or_broken_is_a_reason_that_passes(
    download: Start, server: MastodonServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = server.post("fulldisk", "a.bin", body=os.urandom(300_000))
    with pytest.raises(TransientError, match=r"it cannot be written: .* No such file"):
        await download(path, tmp_path / "nothing" / "a.part").run()

    async def says_no_length(exchange: Exchange) -> None:
        await exchange.head(200, {"Connection": "close"})
        await exchange.send(server.files[path])
        exchange.keeps = False

    server.handlers[path] = says_no_length
    monkeypatch.setattr(Download, "_free_bytes", lambda _: 0)
    with pytest.raises(TransientError, match="no room on the disk"):
        await download(path, tmp_path / "a.part").run()


async def test_trouble_with_the_part_file_is_not_said_to_be_the_server_s(
    download: Start, server: MastodonServer, tmp_path: Path
) -> None:
    [path] = server.post("odd_part", "a.bin", body=os.urandom(100_000))
    (tmp_path / "a.part").mkdir()
    with pytest.raises(TransientError, match=r"it cannot be written: .*a\.part"):
        await download(path, tmp_path / "a.part").run()


async def test_a_disk_without_room_is_a_reason_for_the_account_to_wait(
    download: Start, server: MastodonServer, tmp_path: Path
) -> None:
    """The queue continues it when there is space; otherwise every remaining file would fail."""
    [path] = server.post("noroom", "a.jpg", body=b"small")
    with pytest.raises(Retryable) as raised:
        await download(path, tmp_path / "a.part", spare_bytes=10**18).run()
    assert raised.value.code == "disk_full"
    assert len(server.asked(path)) == 1

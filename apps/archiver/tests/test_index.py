"""The index of the archive."""

import threading
from pathlib import Path

from apps.archiver.tests.archiver import archiving, typed
from apps.archiver.tests.mastodon_server import MastodonServer
from fairlane_archiver.account_folder import AccountFolder
from fairlane_archiver.index import Index
from fairlane_archiver.posts import Media, Post

AT_ONCE = 8


def test_those_who_open_a_new_index_at_the_same_time_all_get_it(tmp_path: Path) -> None:
    """Two programs may open one archive at the same time."""
    for number in range(5):
        gate = threading.Barrier(AT_ONCE)
        opened: list[Index] = []

        def enter(path: Path = tmp_path / f"{number}.db", gate: threading.Barrier = gate) -> None:
            gate.wait()
            opened.append(Index(path))  # noqa: B023 - they have ended before the next round

        threads = [threading.Thread(target=enter) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [index.open_runs("anybody") for index in opened] == [[]] * AT_ONCE
        for index in opened:
            index.close()


def test_a_file_that_was_put_in_its_place_and_not_written_down_is_known_again(
    tmp_path: Path,
) -> None:
    """This is the state after a kill between the two; an item with a part file is left alone."""
    index = Index(tmp_path / "index.db")
    account_folder = AccountFolder(tmp_path, "@ann@social.example", index)
    account_folder.open()
    posts = [
        Post(id=str(n), media=(Media(key=str(n), url="http://x/", name="a.jpg"),)) for n in (1, 2)
    ]
    placed, begun = index.claim(
        account_folder.account, posts, run="run", folder=account_folder.folder
    )
    (account_folder.folder / placed.name).write_bytes(b"pixels")
    account_folder.part(begun).write_bytes(b"pix")
    account_folder.adopt()
    assert [item.post.id for item in index.unfinished(account_folder.account)] == ["2"]
    assert index.totals("run") == (1, 6)
    index.close()


def test_an_index_that_was_lost_is_made_again_of_the_notes_beside_the_files(
    tmp_path: Path, server: MastodonServer
) -> None:
    """A file without a note, or with another size, is left alone and downloaded again."""
    account = server.name("lost")
    paths = server.post("lost", "a.jpg", "b.jpg", "c.jpg")
    with archiving(tmp_path, server) as archiver:
        assert archiver.archived(account)["downloaded"] == 3
    for path in tmp_path.glob("index.db*"):
        path.unlink()
    [folder] = tmp_path.glob("files/*lost*")
    notes = {path.name[-10:]: path for path in folder.glob("*.json")}
    notes["b.jpg.json"].write_bytes(b"{}")
    notes["c.jpg.json"].with_suffix("").write_bytes(b"half")
    with archiving(tmp_path, server) as archiver:
        counts = archiver.done(archiver.start(account))
    assert (counts["downloaded"], counts["skipped"]) == (2, 1)
    assert [len(server.asked(path)) for path in paths] == [1, 2, 2]


def test_a_damaged_index_is_one_sentence_and_a_code(tmp_path: Path) -> None:
    typed(tmp_path, "add", "@ann@social.example")
    for path in tmp_path.glob("index.db*"):
        path.unlink()
    (tmp_path / "index.db").write_bytes(b"no index at all" * 1_000)
    assert "index.db is damaged" in typed(tmp_path, "status", code=5)

"""What the archive has, as its index knows it."""

import threading
from pathlib import Path

from fairlane_archiver.index import Index

AT_ONCE = 8


def test_those_who_open_a_new_index_at_the_same_time_all_get_it(tmp_path: Path) -> None:
    """As two programs do that work on one archive; their connections are as far apart."""
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

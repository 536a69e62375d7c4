"""The jobs that sessions stopped: notes next to the database, for `continue`.

A cancelled job does not record whether its session was stopped or a user cancelled it. So a session
writes a note of its jobs before it cancels them, one file per session. An outdated note is
harmless: only a job that is still cancelled, and is the last of its lane, is continued.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Final

from fairlane_compressor.data_paths import data_folder

_FOLDER: Final = "stopped"


class StoppedJobs:
    """The notes of one database."""

    def __init__(self, database: str) -> None:
        scheme, _, rest = database.partition(":///")
        if scheme == "sqlite":  # the folder of the database is writable
            self._folder = Path(f"{rest.partition('?')[0]}-{_FOLDER}")
        else:
            digest = hashlib.blake2b(database.encode(), digest_size=8).hexdigest()
            self._folder = data_folder() / _FOLDER / digest

    def note(self, session: str, jobs: list[str]) -> None:
        """Store the jobs that a session is about to stop, before the first is cancelled."""
        self._folder.mkdir(parents=True, exist_ok=True)
        part = self._folder / f".{session}.part"
        with part.open("w", encoding="utf-8") as file:
            json.dump(jobs, file)
            file.flush()
            os.fsync(file.fileno())
        part.rename(self._folder / f"{session}.json")

    def read(self) -> dict[Path, list[str]]:
        """Return the jobs of each note, the oldest note first."""
        found = sorted(self._folder.glob("*.json"), key=lambda note: note.stat().st_mtime_ns)
        return {note: json.loads(note.read_text(encoding="utf-8")) for note in found}

    def forget(self, note: Path) -> None:
        note.unlink(missing_ok=True)

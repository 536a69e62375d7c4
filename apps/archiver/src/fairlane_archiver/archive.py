"""The archive: a folder with the files, the index, and a record of every run."""

import threading
import time
from functools import cached_property
from pathlib import Path
from typing import Final

from fairlane import BadSetting, JobView, NotFound
from fairlane_archiver.account_folder import AccountFolder
from fairlane_archiver.index import Index
from fairlane_archiver.network import Allowed
from fairlane_archiver.request_pace import RequestPace
from fairlane_archiver.settings import Settings

QUEUE_FILE: Final = "queue.db"
_ANOTHER: Final = "name another with --folder or FAIRLANE_ARCHIVE_FOLDER"
_PATIENCE_SECONDS: Final = 2.0


class Archive:
    """The state that all accounts of a process share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.allowed = Allowed(settings.allow)
        self.pace = RequestPace(longest_wait_seconds=settings.longest_wait_seconds)
        self._settling = threading.Lock()

    def begin(self) -> None:
        """Create the folder if it is missing; read-only commands must not, because the folder may
        be mistyped."""
        try:
            self.settings.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadSetting(
                f"{self.settings.folder} cannot be the folder of an archive: {error.strerror}; "
                f"{_ANOTHER}"
            ) from None

    def check(self) -> None:
        """Raise unless the folder contains an archive."""
        folder = self.settings.folder
        if folder.exists() and not folder.is_dir():
            raise BadSetting(f"{folder} is no folder of an archive, but a file; {_ANOTHER}")
        if not (folder / QUEUE_FILE).exists():
            raise NotFound(
                f"there is no archive in {folder}; `fairlane-archive add ACCOUNT` begins one, and "
                "--folder names another"
            )

    @cached_property
    def index(self) -> Index:
        return Index(self.settings.folder / "index.db")

    def account_folder(self, account: str) -> AccountFolder:
        return AccountFolder(self.settings.folder / "files", account, self.index)

    def record(self, run: str) -> Path:
        """Return the path of the record with the parameters of a run.

        The record is an output of the job, published before any file is saved. Fairlane removes it
        when the job is cancelled and its outputs are to be deleted, even if processes die
        meanwhile. The missing record is how the archive learns of the deletion.
        """
        return self.settings.folder / "runs" / f"{run}.json"

    def settle(self, job: JobView) -> None:
        """Close the run of an ended job, and undo it if its outputs were to be deleted.

        Such a job has no artifacts, and its record is deleted or about to be. Unless both are true
        no file is deleted: a user may have removed the records by hand.
        """
        record = self.record(job.id)
        forgotten = job.state == "cancelled" and not job.artifacts
        give_up_at = time.monotonic() + _PATIENCE_SECONDS
        while forgotten and record.exists() and time.monotonic() < give_up_at:
            time.sleep(0.05)
        with self._settling:
            if self.index.is_open(job.id):
                if forgotten and not record.exists() and job.lane is not None:
                    self.account_folder(job.lane).undo(job.id)
                self.index.close_run(job.id)

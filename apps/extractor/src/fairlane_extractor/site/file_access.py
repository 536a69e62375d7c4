"""The files of this machine that clients of the site may name as an input, and may read.

An operator of the site is not its owner: without bounds, a path would show any video of the
machine. So a file must lie in the folder for uploads or in a folder of the setting `files`. A path
that leads out of them by a link is refused, and the answer does not tell whether a file exists.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from fairlane import UsageError
from fairlane_extractor.settings import Settings
from fairlane_extractor.sources.platforms import classify


class BadInput(UsageError):
    """A file that clients may not name."""

    code = "bad_input"


def check_inputs(settings: Settings, inputs: Iterable[str]) -> None:
    """Refuse files outside the folders for clients; an empty input is refused by the task."""
    folders = (settings.uploads_folder, *settings.files)
    for input in map(str.strip, inputs):
        if input and classify(input) == "file" and not _is_below(input, folders):
            raise BadInput(
                f'"{input[:200]}" is no input of this site; expected a link, an upload, or an '
                "absolute path in a folder of FAIRLANE_EXTRACT_FILES: upload the file"
            )


def is_served(settings: Settings, path: str) -> bool:
    """Return whether clients may read the media of a result."""
    return _is_below(path, (settings.uploads_folder, settings.media_folder, *settings.files))


def _is_below(path: str, folders: Iterable[Path]) -> bool:
    """Return whether an absolute path, with its links resolved, is below a folder."""
    if not os.path.isabs(path) or ".." in Path(path).parts:  # noqa: PTH117 - any text
        return False
    try:
        # Unlike `Path.resolve`, this has no error for links in a circle.
        real = Path(os.path.realpath(path))
    except ValueError:  # no path has a NUL character or half of a character
        return False
    return any(Path(os.path.realpath(folder)) in real.parents for folder in folders)

"""The child process that reads tracks, which are untrusted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from fairlane_extractor.child_side import ChildError, Send, serve
from fairlane_extractor.media import Track
from fairlane_extractor.tracks.problem import TrackProblem
from fairlane_extractor.tracks.reading import read_first


def work(request: Mapping[str, Any], send: Send) -> Any:
    """Return the first track with text."""
    tracks = msgspec.convert(request["tracks"], list[Track])

    def note(message: str) -> None:
        send("progress", {"percent": 0, "message": message})

    try:
        read = read_first(Path(request["path"]), request["seconds"], tracks, note)
    except TrackProblem as problem:
        raise ChildError(problem.code, str(problem)) from problem
    return msgspec.to_builtins(read)


if __name__ == "__main__":
    serve(work)

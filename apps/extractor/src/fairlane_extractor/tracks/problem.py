"""The reason why a track is refused."""


class TrackProblem(Exception):
    """A track that cannot be used: `corrupt_track` or `empty_track`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

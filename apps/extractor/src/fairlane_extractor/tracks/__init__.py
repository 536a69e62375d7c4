"""Subtitle tracks of a media become segments."""

from fairlane_extractor.tracks.tracks import read_tracks

__all__ = ["read_tracks"]

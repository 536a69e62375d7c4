"""Text on the frames of a video becomes segments."""

from fairlane_extractor.frames.frames import recognise

__all__ = ["recognise"]

"""Spoken text of a media, found by a recogniser in a child process."""

from fairlane_extractor.speech.choice import Model
from fairlane_extractor.speech.speech import recognise

__all__ = ["Model", "recognise"]

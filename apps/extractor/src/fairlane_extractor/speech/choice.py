"""The engine for a media: those of the user's models first, then the ones that ship a model."""

from pathlib import Path
from typing import Final, Literal, NamedTuple

from fairlane_extractor.languages import short_code
from fairlane_extractor.settings import PREFIX, Settings

Model = Literal["large", "small"]
EngineName = Literal["faster-whisper", "sherpa-onnx", "moonshine", "pocketsphinx"]

ENGLISH_ONLY: Final = frozenset({"moonshine", "pocketsphinx"})


class Choice(NamedTuple):
    engine: EngineName
    folder: Path | None = None  # of the user's model


def choose_engine(settings: Settings, model: Model) -> Choice:
    """Return the best engine for "large" and the next one for "small".

    So a whisper model that needs too much memory is followed by moonshine, and moonshine by
    pocketsphinx.
    """
    choices = [Choice("moonshine"), Choice("pocketsphinx")]
    if settings.sherpa_model is not None:
        choices.insert(0, Choice("sherpa-onnx", settings.sherpa_model))
    if settings.whisper_model is not None:
        choices.insert(0, Choice("faster-whisper", settings.whisper_model))
    return choices[0] if model == "large" else choices[1]


def knows_language(engine: EngineName, language: str | None) -> bool:
    """Return false only if the engine cannot know a language that is known."""
    return engine not in ENGLISH_ONLY or short_code(language) in (None, "en")


def explain_language(engine: EngineName, language: str) -> str:
    """Return why a language gives no text, and how a user gets it."""
    return (
        f'the spoken language is "{language}", and {engine} knows only English; name a folder with '
        f"a model for it: {PREFIX}WHISPER_MODEL (faster-whisper) or {PREFIX}SHERPA_MODEL "
        f"(sherpa-onnx)"
    )

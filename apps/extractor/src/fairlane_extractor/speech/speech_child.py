"""Recognise the speech of a media, in a child process.

The request has the path, the engine, the folder of its model, the language if it is known, and the
longest sound in seconds. The result has the segments, or the code of the reason why there are none.
"""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fairlane_extractor.child_side import Send, serve
from fairlane_extractor.languages import language_of_script, short_code
from fairlane_extractor.speech.activity import Utterance, UtteranceFinder
from fairlane_extractor.speech.choice import EngineName, explain_language, knows_language
from fairlane_extractor.speech.engine import Engine, Load, Phrase, engine_errors
from fairlane_extractor.speech.repetition import is_loop
from fairlane_extractor.speech.sentences import split_phrase
from fairlane_extractor.speech.sound import Sound, open_sound

MODULES: Final[Mapping[EngineName, str]] = {
    "faster-whisper": "whisper",
    "sherpa-onnx": "sherpa",
    "moonshine": "moonshine",
    "pocketsphinx": "pocketsphinx",
}


def work(request: Mapping[str, Any], send: Send) -> dict[str, Any]:
    name: EngineName = request["engine"]
    wanted = short_code(request["language"])
    with open_sound(
        request["path"], language=wanted, longest_seconds=request["longest_seconds"]
    ) as sound:
        if sound is None:
            return _nothing("no_audio", "the media has no sound that can be decoded")
        # The language of the speech is the one that the user or the site named, or else the one in
        # the metadata of the sound. The English engines cannot detect another one: they make
        # English words of any speech. Engines with a model of the user detect it.
        language = wanted or sound.language
        if language is not None and not knows_language(name, language):
            return _nothing("language_without_model", explain_language(name, language))
        folder = Path(request["folder"]) if request["folder"] else None
        return _recognise(sound, name, folder, language, send)


def _recognise(
    sound: Sound, name: EngineName, folder: Path | None, language: str | None, send: Send
) -> dict[str, Any]:
    send("progress", {"percent": 0, "message": f"loading {name}"})
    with engine_errors(name):
        engine = load_engine(name, folder, language)
    finder = UtteranceFinder(engine.cuts)
    segments: list[dict[str, Any]] = []
    report = _Report(sound.seconds, send)
    for utterance in _utterances(sound, finder, report):
        with engine_errors(name):
            phrases = engine.recognise(utterance.samples)
        segments += _segments(utterance, phrases, language)
    if segments:
        return {"segments": segments}
    seconds = f"{finder.position:,.0f} s"
    if finder.is_silent:
        return _nothing("silence", f"the sound is silent for {seconds}")
    return _nothing("no_speech", f"{name} found no speech in {seconds} of sound")


def load_engine(name: EngineName, folder: Path | None, language: str | None) -> Engine:
    # Each engine is imported alone: the libraries are large, and two are optional.
    module = importlib.import_module(f"fairlane_extractor.speech.{MODULES[name]}")
    load: Load = module.load
    return load(folder, language)


def _utterances(sound: Sound, finder: UtteranceFinder, report: "_Report") -> Iterator[Utterance]:
    for block in sound.blocks():
        for utterance in finder.add(block):
            yield utterance
            report.position(finder.position)
        report.position(finder.position)
    yield from finder.finish()


def _segments(
    utterance: Utterance, phrases: list[Phrase], language: str | None
) -> list[dict[str, Any]]:
    return [
        {
            # Whisper gives numbers of numpy, which JSON does not know.
            "start": round(float(utterance.start + one.start), 3),
            "end": round(float(utterance.start + max(one.end, one.start)), 3),
            "text": one.text,
            "confidence": None if one.confidence is None else round(float(one.confidence), 3),
            "language": one.language or language or language_of_script(one.text),
        }
        for phrase in phrases
        if phrase.text and not is_loop(phrase.text)
        for one in split_phrase(phrase)
    ]


def _nothing(code: str, reason: str) -> dict[str, Any]:
    return {"segments": [], "code": code, "reason": reason}


class _Report:
    """Sends the position in the media, once for each percent or minute."""

    def __init__(self, seconds: float | None, send: Send) -> None:
        self._seconds = seconds
        self._send = send
        self._sent = (-1, -1)

    def position(self, seconds: float) -> None:
        percent = min(99.0, 100 * seconds / self._seconds) if self._seconds else 0.0
        minutes, rest = divmod(int(seconds), 60)
        if (int(percent), minutes) != self._sent:
            self._sent = (int(percent), minutes)
            message = f"{minutes}:{rest:02} of the sound"
            self._send("progress", {"percent": round(percent, 1), "message": message})


if __name__ == "__main__":
    serve(work)

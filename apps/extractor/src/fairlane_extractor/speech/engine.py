"""The contract of an engine: an utterance becomes phrases, with times from its begin."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from fairlane_extractor.child_memory import is_out_of_memory
from fairlane_extractor.child_side import ChildError
from fairlane_extractor.speech.activity import Cuts
from fairlane_extractor.speech.sound import Samples


class Word(NamedTuple):
    """A word; its text begins with the space before it, where the script has spaces."""

    start: float
    end: float
    text: str
    confidence: float | None = None


class Phrase(NamedTuple):
    start: float
    end: float
    text: str
    confidence: float | None = None
    language: str | None = None
    words: tuple[Word, ...] = ()  # empty if the engine has no times of words


class Engine(Protocol):
    @property
    def cuts(self) -> Cuts:
        """The utterances that the engine reads best."""

    def recognise(self, samples: Samples) -> list[Phrase]: ...


Load = Callable[[Path | None, str | None], Engine]  # the model folder, and the language if known


@contextmanager
def engine_errors(name: str) -> Iterator[None]:
    """Raise `MemoryError` for an error of native code that a full address space explains."""
    try:
        yield
    except (MemoryError, ChildError):
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise MemoryError from error
        if isinstance(error, ImportError):
            raise ChildError(
                "engine_missing", f"{name} cannot be imported ({error}); install it"
            ) from error
        raise ChildError("engine_failed", f"{name} failed: {error}"[:500]) from error

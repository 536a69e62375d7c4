"""How well text on frames was read."""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from apps.extractor.tests.clips import Caption
from fairlane_extractor.segments import Segment


def character_accuracy(expected: str, found: str) -> float:
    """Return 1 minus the share of characters to change; spaces and rows do not count."""
    wanted, read = "".join(expected.split()), "".join(found.split())
    if not wanted:
        return 1.0 if not read else 0.0
    return max(0.0, 1 - Levenshtein.distance(wanted, read) / len(wanted))


def frame_accuracy(captions: Sequence[Caption], segments: Sequence[Segment]) -> float:
    """Return the accuracy of all text on a clip, with captions and segments in order of time."""
    expected = sorted(caption[:3] for caption in captions)
    found = sorted((segment.start, segment.end, segment.text) for segment in segments)
    return character_accuracy(
        "\n".join(text for _, _, text in expected), "\n".join(text for _, _, text in found)
    )

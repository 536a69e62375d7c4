"""How well text on frames was read."""

from collections.abc import Sequence

from apps.extractor.tests.clips import Caption
from apps.extractor.tests.measures import character_accuracy
from fairlane_extractor.segments import Segment


def frame_accuracy(captions: Sequence[Caption], segments: Sequence[Segment]) -> float:
    """Return the accuracy of all text on a clip, with captions and segments in order of time."""
    expected = sorted(caption[:3] for caption in captions)
    found = sorted((segment.start, segment.end, segment.text) for segment in segments)
    return character_accuracy(
        "\n".join(text for _, _, text in expected), "\n".join(text for _, _, text in found)
    )

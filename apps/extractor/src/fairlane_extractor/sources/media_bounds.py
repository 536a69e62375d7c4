"""The errors of media that are longer or larger than the settings allow."""

from fairlane_extractor.child_side import ChildError


def too_long(seconds: float, longest_seconds: float) -> ChildError:
    return ChildError(
        "too_long",
        f"the media has {seconds:,.0f} seconds, and {longest_seconds:,.0f} are allowed; "
        "FAIRLANE_EXTRACT_LONGEST_SECONDS, where the extractor runs, allows more",
    )


def too_large(size: str, largest_bytes: int) -> ChildError:
    return ChildError(
        "too_large",
        f"the media has {size} bytes, and {largest_bytes:,} are allowed; "
        "FAIRLANE_EXTRACT_LARGEST_BYTES, where the extractor runs, allows more",
    )

"""Inputs become files of this machine: `parse` finds the media, `download` fetches it.

They are imported at first use, so that the children of this package start without Fairlane.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairlane_extractor.sources.fetch import download, parse

__all__ = ["download", "parse"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from fairlane_extractor.sources import fetch

        return getattr(fetch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The filters of an account: which posts and files to save."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from fairlane_archiver.posts import Kind, Media, Post


@dataclass(frozen=True, kw_only=True)
class Filters:
    """The filters of a row. `since` and `until` are days in UTC, both inclusive."""

    kinds: frozenset[Kind] = frozenset({"image", "video", "audio", "other"})
    since: date | None = None
    until: date | None = None
    min_bytes: int = 0
    replies: bool = True
    boosts: bool = False
    most: int | None = None

    def refuses(self, post: Post, media: Media) -> bool:
        """Return whether the filters exclude a file, by the data of its post."""
        return (
            (post.is_reply and not self.replies)
            or (post.is_boost and not self.boosts)
            or media.kind not in self.kinds
            or self.is_before(post.posted_at)
            or self._is_after(post.posted_at)
            or (media.bytes is not None and media.bytes < self.min_bytes)
        )

    def is_before(self, posted_at: datetime | None) -> bool:
        """Return whether a post is older than `since`; a post without a date never is."""
        if self.since is None or posted_at is None:
            return False
        return posted_at < datetime.combine(self.since, time(), UTC)

    def _is_after(self, posted_at: datetime | None) -> bool:
        if self.until is None or posted_at is None:
            return False
        return posted_at > datetime.combine(self.until, time.max, UTC)

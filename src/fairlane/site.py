"""The site of a program: an ASGI application that is served beside the console and the API."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from msgspec import Struct

from fairlane.errors import BadSetting

SiteApplication = Callable[[Any, Any, Any], Awaitable[None]]


class Site(Struct, frozen=True):
    application: SiteApplication
    public: frozenset[str]  # paths that need no token
    public_folders: tuple[str, ...]  # the same for all paths that begin so

    def is_public(self, path: str) -> bool:
        # An application may resolve "..", and so leave a public folder.
        is_inside = ".." not in path.split("/") and path.startswith(self.public_folders)
        return path in self.public or is_inside


def new_site(application: SiteApplication, public: Iterable[str]) -> Site:
    """Create a site from paths such as "/about" and "/static/*"."""
    if not callable(application):
        raise BadSetting(
            f"the site is of type {type(application).__name__}; it must be an ASGI application, "
            "such as Starlette(routes=[…])"
        )
    paths = [public] if isinstance(public, str) else list(public)
    for path in paths:
        if not path.startswith("/") or "*" in path.removesuffix("/*"):
            raise BadSetting(
                f'the public path "{path}" is not known; write a path such as "/about", or '
                '"/static/*" for all paths of a folder'
            )
    return Site(
        application=application,
        public=frozenset(path for path in paths if not path.endswith("/*")),
        public_folders=tuple(path[:-1] for path in paths if path.endswith("/*")),
    )

"""The app that a request is about."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from fairlane.app import Fairlane


def the_app(connection: HTTPConnection) -> Fairlane:
    """Return the app that a request or a WebSocket is about, as a dependency of routes."""
    app: Fairlane = connection.app.state.fairlane
    return app


App = Annotated[Fairlane, Depends(the_app)]

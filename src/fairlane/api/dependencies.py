"""FastAPI dependencies that several routers share."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from fairlane.app import Fairlane


def app_of(connection: HTTPConnection) -> Fairlane:
    """Return the app that serves this request or WebSocket."""
    app: Fairlane = connection.app.state.fairlane
    return app


App = Annotated[Fairlane, Depends(app_of)]

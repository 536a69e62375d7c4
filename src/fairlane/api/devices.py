"""Devices: named things that jobs run on, one at a time on each."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from starlette.responses import Response

from fairlane.api import models, openapi_links
from fairlane.api.dependencies import App
from fairlane.api.jobs import UNDECIDED
from fairlane.api.models import Name
from fairlane.api.problems import documented
from fairlane.api.responses import address_of, answer
from fairlane.api.strict_json import StrictRoute
from fairlane.app import Fairlane
from fairlane.errors import UnknownName
from fairlane.snapshot import DeviceView

router = APIRouter(tags=["devices"], route_class=StrictRoute)

DeviceName = Annotated[Name, Path(alias="id")]
_CHANGE: Any = UNDECIDED | documented(404, 409, body=True)


async def _shown(app: Fairlane, name: str) -> DeviceView:
    known = await app.devices.list()
    if name not in known:
        raise UnknownName("device", name, known)
    return known[name]


@router.get("/devices", operation_id="list_devices", response_model=models.Devices,
            responses=documented())  # fmt: skip
async def list_devices(app: App) -> Response:
    """List every device by name, whether it is idle, busy or down, and what it runs."""
    return answer({"items": list((await app.devices.list()).values())})


@router.post("/devices", operation_id="save_device", status_code=201,
             response_model=models.Device,
             responses=_CHANGE
             | {201: {"description": "saved", **openapi_links.TO_DEVICE}})  # fmt: skip
async def save_device(
    app: App, request: Request, given: Annotated[models.NewDevice, Body()]
) -> Response:
    """Add a device to a queue, or put another in the place of the one with this name."""
    await app.devices.save(
        given.name, queue=given.queue, labels=given.labels, settings=given.settings
    )
    place = address_of(request, "devices", given.name)
    return answer(await _shown(app, given.name), status=201, Location=place)


@router.get("/devices/{id}", operation_id="show_device", response_model=models.Device,
            responses=documented(404))  # fmt: skip
async def show_device(app: App, id: DeviceName) -> Response:
    return answer(await _shown(app, id))


@router.patch("/devices/{id}", operation_id="change_device", response_model=models.Device,
              responses=_CHANGE)  # fmt: skip
async def change_device(
    app: App, id: DeviceName, changes: Annotated[models.DeviceChanges, Body()]
) -> Response:
    """Change some of a device; `paused` lets it take nothing new, and what it runs go on."""
    await app.devices.change(
        id, labels=changes.labels, settings=changes.settings, paused=changes.paused
    )
    return answer(await _shown(app, id))


@router.delete("/devices/{id}", operation_id="delete_device", status_code=204,
               responses=_CHANGE)  # fmt: skip
async def delete_device(app: App, id: DeviceName) -> Response:
    """Take a device out; what runs on it goes on to its end."""
    await app.devices.delete(id)
    return Response(status_code=204)

"""Devices: named devices that jobs run on, one job at a time on each."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from starlette.responses import Response

from fairlane.api import models, openapi_links
from fairlane.api.dependencies import App
from fairlane.api.jobs import UNDECIDED
from fairlane.api.models import Name
from fairlane.api.problems import problem_docs
from fairlane.api.responses import json_response, resource_path
from fairlane.api.strict_json import StrictRoute
from fairlane.app import Fairlane
from fairlane.errors import UnknownName
from fairlane.snapshot import DeviceView

router = APIRouter(tags=["devices"], route_class=StrictRoute)

DeviceName = Annotated[Name, Path(alias="id")]
_CHANGE: Any = UNDECIDED | problem_docs(404, 409, body=True)


async def _find_device(app: Fairlane, name: str) -> DeviceView:
    known = await app.devices.list()
    if name not in known:
        raise UnknownName("device", name, known)
    return known[name]


@router.get("/devices", operation_id="list_devices", response_model=models.Devices,
            responses=problem_docs())  # fmt: skip
async def list_devices(app: App) -> Response:
    """List every device by name, with its state (idle, busy or down) and its running job."""
    return json_response({"items": list((await app.devices.list()).values())})


@router.post("/devices", operation_id="save_device", status_code=201,
             response_model=models.Device,
             responses=_CHANGE
             | {201: {"description": "saved", **openapi_links.TO_DEVICE}})  # fmt: skip
async def save_device(
    app: App, request: Request, given: Annotated[models.NewDevice, Body()]
) -> Response:
    """Add a device to a queue, or replace the device with this name."""
    await app.devices.save(
        given.name, queue=given.queue, labels=given.labels, settings=given.settings
    )
    place = resource_path(request, "devices", given.name)
    return json_response(await _find_device(app, given.name), status=201, Location=place)


@router.get("/devices/{id}", operation_id="show_device", response_model=models.Device,
            responses=problem_docs(404))  # fmt: skip
async def show_device(app: App, id: DeviceName) -> Response:
    return json_response(await _find_device(app, id))


@router.patch("/devices/{id}", operation_id="change_device", response_model=models.Device,
              responses=_CHANGE)  # fmt: skip
async def change_device(
    app: App, id: DeviceName, changes: Annotated[models.DeviceChanges, Body()]
) -> Response:
    """Change fields of a device. With `paused` it gets no new job; its running job continues."""
    await app.devices.change(
        id, labels=changes.labels, settings=changes.settings, paused=changes.paused
    )
    return json_response(await _find_device(app, id))


@router.delete("/devices/{id}", operation_id="delete_device", status_code=204,
               responses=_CHANGE)  # fmt: skip
async def delete_device(app: App, id: DeviceName) -> Response:
    """Remove a device; the job that runs on it continues until it ends."""
    await app.devices.delete(id)
    return Response(status_code=204)

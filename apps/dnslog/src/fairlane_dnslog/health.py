"""The address for a monitor, and the state of the servers as JSON."""

import time

import msgspec
from flask import Flask, Response

from fairlane_dnslog.database import DatabaseError
from fairlane_dnslog.program import Program
from fairlane_dnslog.status import read_status


def create_health(program: Program) -> Flask:
    """Return a Flask application that answers monitors: `GET /healthz`."""
    web = Flask("fairlane_dnslog")

    @web.get("/healthz")
    def health() -> Response:
        try:
            found = read_status(program.database, program.settings, now=time.time())
        except DatabaseError as error:
            return _json({"ready": False, "error": str(error)[:500]}, status=503)
        states = {server.name: server.state for server in found.servers}
        return _json({"ready": program.is_ready, "servers": states})

    return web


def _json(value: object, *, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status=status, mimetype="application/json")

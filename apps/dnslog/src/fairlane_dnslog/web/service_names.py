"""The names of services, which rules store by their ids."""

from flask import g

from fairlane_dnslog.web.visitor import program


def service_name(service: str) -> str:
    """Return the name of a service as the servers list it, or its id while none has answered."""
    if "service_names" not in g:
        g.service_names = {one.id: one.name for one in program().services()}
    found: str = g.service_names.get(service, service)
    return found

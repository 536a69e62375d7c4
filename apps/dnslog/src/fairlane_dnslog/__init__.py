"""The DNS log: AdGuard Home's query log, stored; and filtering rules that follow the clock."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flask import Flask


def create_app(**flags: Any) -> "Flask":
    """Return the WSGI application of this process, started, for gunicorn.

    Flags are the settings by name; the environment and the settings file give the others. While the
    database is away, pages answer 503.
    """
    from fairlane_dnslog.program import Program
    from fairlane_dnslog.settings import load_settings
    from fairlane_dnslog.web.application import create_web

    program = Program(load_settings(**flags))
    program.start()
    return create_web(program)

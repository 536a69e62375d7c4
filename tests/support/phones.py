"""Devices under the control of a test: they answer or fail, and record the calls to them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fairlane import Device


class Rack:
    """All phones of one test, with the calls to them."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.dead: set[str] = set()  # they do not answer
        self.dirty: set[str] = set()  # they cannot be cleaned up
        self.connected: dict[str, int] = {}

    def call(self, method: str, phone: Device) -> None:
        if phone.name in self.dead:
            raise ConnectionError(f"{phone.name} does not answer")
        if method == "connect":
            self.connected[phone.name] = self.connected.get(phone.name, 0) + 1
        if method != "check":
            self.told.append(f"{method} {phone.name}")


def phones(rack: Rack) -> type[Device]:
    """Return a driver class for the phones of this rack."""

    class Phone(Device):
        check_seconds: ClassVar[float] = 0.01
        answer_seconds: ClassVar[float] = 5.0

        async def connect(self) -> None:
            rack.call("connect", self)

        def check(self) -> None:  # plain, as drivers often are
            rack.call("check", self)

        def prepare(self, ctx: Any, params: Mapping[str, Any]) -> None:
            rack.call(f"prepare {params['account']} on", self)

        async def cleanup(self, ctx: Any, params: Mapping[str, Any]) -> None:
            rack.told.append(f"cleanup {params['account']} on {self.name}")
            if self.name in rack.dirty:
                raise OSError("it hangs in a dialog")

        def close(self) -> None:
            rack.told.append(f"close {self.name}")

    return Phone

"""Devices that a test holds in its hand: they answer or not, and tell what was done to them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fairlane import Device


class Rack:
    """What happens to all phones of one test."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.dead: set[str] = set()  # they answer nobody
        self.dirty: set[str] = set()  # they cannot be cleaned up
        self.connected: dict[str, int] = {}

    def tell(self, what: str, phone: Device) -> None:
        if phone.name in self.dead:
            raise ConnectionError(f"{phone.name} does not answer")
        if what == "connect":
            self.connected[phone.name] = self.connected.get(phone.name, 0) + 1
        if what != "check":
            self.told.append(f"{what} {phone.name}")


def phones(rack: Rack) -> type[Device]:
    """Return the class of phones that stand in this rack."""

    class Phone(Device):
        check_seconds: ClassVar[float] = 0.01
        answer_seconds: ClassVar[float] = 5.0

        async def connect(self) -> None:
            rack.tell("connect", self)

        def check(self) -> None:  # plain, as what speaks to a device often is
            rack.tell("check", self)

        def prepare(self, ctx: Any, params: Mapping[str, Any]) -> None:
            rack.tell(f"prepare {params['account']} on", self)

        async def cleanup(self, ctx: Any, params: Mapping[str, Any]) -> None:
            rack.told.append(f"cleanup {params['account']} on {self.name}")
            if self.name in rack.dirty:
                raise OSError("it hangs in a dialog")

        def close(self) -> None:
            rack.told.append(f"close {self.name}")

    return Phone

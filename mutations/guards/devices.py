"""A device is driven by one process and runs one job, and is known to be down when it is."""

from typing import Final

from mutations.mutation import Mutation, suite

_DEVICE: Final = "src/fairlane/worker/device_actor.py"
_OUTCOMES: Final = "src/fairlane/core/worker_reports.py"
_DECIDED: Final = suite("tests/core/test_devices.py")
_DRIVEN: Final = suite("tests/worker/test_devices.py")

DEVICES: Final = (
    Mutation(
        name="devices that somebody carries",
        guards="A device belongs to the process that was first to claim it.",
        file=_OUTCOMES,
        find="        if carried is not None and carried.id != joined.id:\n",
        replace="        if False:\n",
        noticed_by=(_DECIDED,),
    ),
    Mutation(
        name="devices of the dead",
        guards="A device is gone with the process that carried it.",
        file=_OUTCOMES,
        find="return left.get(worker, left.get(carrier_of(worker)))",
        replace="return left.get(worker)",
        noticed_by=(_DECIDED,),
    ),
    Mutation(
        name="jobs on a device that went down",
        guards="What runs on a device that does not answer is interrupted.",
        file=_DEVICE,
        find='            self.attempt.stop("down")',
        replace="            pass",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="jobs that are done though cleaning up failed",
        guards="How a job ended stands before its device is cleaned up.",
        file="src/fairlane/worker/attempt.py",
        find="        if not self._has_returned:\n",
        replace="        if True:\n",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="devices that a job found down",
        guards="A device gets no job while it is known to be in trouble.",
        file=_DEVICE,
        find="is_well = self._is_up and self._failure is None",
        replace="is_well = self._is_up",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="devices that are paused",
        guards="A pause of a device is in force before its carrier has heard of it.",
        file="src/fairlane/core/workers.py",
        find="return self.accepting and not self.withheld",
        replace="return self.accepting",
        noticed_by=(_DECIDED,),
    ),
    Mutation(
        name="claims of those who have no lease",
        guards="A process that counts as dead claims no device.",
        file="src/fairlane/worker/device_claims.py",
        find="        if carrier not in workers:\n",
        replace="        if False:\n",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="cleaning up after jobs",
        guards="A device is cleaned up after each job, whatever happened to it.",
        file="src/fairlane/worker/attempt.py",
        find="            await await_uncancelled(device.cleanup(context, values))",
        replace="            pass",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="labels of a changed device",
        guards="A device is driven by what is stored of it now.",
        file="src/fairlane/worker/device_claims.py",
        find="                actor.change_record(stored[name])",
        replace="                pass",
        noticed_by=(_DRIVEN,),
    ),
)

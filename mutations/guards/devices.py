"""Guards of devices: one process drives a device, it runs one job, and a failure is noticed."""

from typing import Final

from mutations.mutation import Mutation, suite

_DEVICE: Final = "src/fairlane/worker/device_actor.py"
_OUTCOMES: Final = "src/fairlane/core/worker_reports.py"
_DECIDED: Final = suite("tests/core/test_devices.py")
_DRIVEN: Final = suite("tests/worker/test_devices.py")

DEVICES: Final = (
    Mutation(
        name="devices that a process drives",
        guards="A device belongs to the process that was first to claim it.",
        file=_OUTCOMES,
        find="        if carried is not None and carried.id != joined.id:\n",
        replace="        if False:\n",
        noticed_by=(_DECIDED,),
    ),
    Mutation(
        name="devices of dead processes",
        guards="A device is unavailable once the process that drove it is dead.",
        file=_OUTCOMES,
        find="return left.get(worker, left.get(carrier_of(worker)))",
        replace="return left.get(worker)",
        noticed_by=(_DECIDED,),
    ),
    Mutation(
        name="jobs on a device that went down",
        guards="The job on a device that does not answer is interrupted.",
        file=_DEVICE,
        find='            self.attempt.stop("down")',
        replace="            pass",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="jobs that are done though cleaning up failed",
        guards="The outcome of a job is fixed before its device is cleaned up.",
        file="src/fairlane/worker/attempt.py",
        find="        if not self._has_returned:\n",
        replace="        if True:\n",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="devices that a job found down",
        guards="A device gets no job while it is known to be down.",
        file=_DEVICE,
        find="is_well = self._is_up and self._failure is None",
        replace="is_well = self._is_up",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="devices that are paused",
        guards="A pause of a device is in force before its driving process has received it.",
        file="src/fairlane/core/workers.py",
        find="return self.accepting and not self.withheld",
        replace="return self.accepting",
        noticed_by=(_DECIDED,),
    ),
    Mutation(
        name="claims without a lease",
        guards="A process that counts as dead claims no device.",
        file="src/fairlane/worker/device_claims.py",
        find="        if carrier not in workers:\n",
        replace="        if False:\n",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="cleaning up after jobs",
        guards="A device is cleaned up after each job, also after a failure.",
        file="src/fairlane/worker/attempt.py",
        find="            await await_uncancelled(device.cleanup(context, values))",
        replace="            pass",
        noticed_by=(_DRIVEN,),
    ),
    Mutation(
        name="labels of a changed device",
        guards="A device uses its currently stored settings.",
        file="src/fairlane/worker/device_claims.py",
        find="                actor.change_record(stored[name])",
        replace="                pass",
        noticed_by=(_DRIVEN,),
    ),
)

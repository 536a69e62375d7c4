"""The list of guards, by subject."""

from typing import Final

from mutations.guards.admission import ADMISSION
from mutations.guards.attempts import ATTEMPTS
from mutations.guards.devices import DEVICES
from mutations.guards.fences import FENCES
from mutations.guards.hooks import HOOKS
from mutations.guards.leading import LEADING
from mutations.guards.limits import LIMITS
from mutations.guards.membership import MEMBERSHIP
from mutations.guards.recovery import RECOVERY
from mutations.guards.stages import STAGES
from mutations.guards.storing import STORING
from mutations.mutation import Mutation

MUTATIONS: Final[tuple[Mutation, ...]] = (
    *FENCES,
    *ATTEMPTS,
    *RECOVERY,
    *LIMITS,
    *ADMISSION,
    *STORING,
    *LEADING,
    *MEMBERSHIP,
    *DEVICES,
    *STAGES,
    *HOOKS,
)

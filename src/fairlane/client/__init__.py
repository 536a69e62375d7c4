"""What application code calls while an engine runs: submit, steer, look.

Every call works in every process on the database. Changes go to the leader and come back with its
answer; reads go straight to the store.
"""

from fairlane.client.devices import Devices
from fairlane.client.events import Looking
from fairlane.client.lanes import Lanes
from fairlane.client.schedules import Schedules


class Client(Lanes, Schedules, Devices, Looking):
    """Everything that `Fairlane` can be asked while it runs."""

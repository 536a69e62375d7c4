"""Several Fairlane processes on one database: leases, messages, membership."""

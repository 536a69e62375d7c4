"""The calls of application code while an engine runs, one class for each noun.

`Fairlane` has one object of each: `app.jobs`, `app.queues`, `app.lanes`, `app.schedules`,
`app.devices`, `app.limits`, `app.events` and `app.workers`. Every call works in every process on
the database. Changes go to the leader and return its answer; reads go straight to the store.
"""

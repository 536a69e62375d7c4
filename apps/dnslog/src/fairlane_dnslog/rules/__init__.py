"""Timed rules: conditions over time, the state they demand, and how it reaches the servers.

`window` and `desired` are pure; `apply` writes to a server, `rule_store` to the database, and
`watch` reloads the rules in each process.
"""

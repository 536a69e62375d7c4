"""The scheduler: a pure function from inputs to decisions.

No module here reads a clock, touches a file, waits or logs; `import-linter` checks it. Read
`lifecycle`, then `board`, then `scheduler`.
"""

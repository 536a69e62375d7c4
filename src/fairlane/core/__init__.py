"""The pure heart: what happened goes in, what to do comes out.

Nothing here reads a clock, touches a file, waits or logs; `import-linter` keeps it so. Read
`lifecycle`, then `board`, then `scheduler`.
"""

"""The stream of events of one process: `stream` reads them, `window` holds them, `batch` encodes
them, and each `follower` takes them from the window. `sse` and `websocket` send them."""

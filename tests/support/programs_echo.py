"""A child process that sends each message back, except for a few commands.

`"pid"` answers with its process id, `"die"` exits in the middle of a message, `"stuck"` never reads
again, `"print"` writes to stdout, `{"run": argv}` runs a program.
"""

import asyncio
import os
import sys
import time
from typing import Any

from fairlane.process.child_pool import FD_VARIABLE, MessagePipe, connect
from fairlane.process.program import run_program


async def main() -> None:
    connection = await connect()
    async for message in connection.messages():
        await answer(connection, message)


async def answer(connection: MessagePipe, message: Any) -> None:
    match message:
        case "pid":
            await connection.send(os.getpid())
        case "variable":
            await connection.send(os.environ.get(FD_VARIABLE))
        case "print":
            sys.stdout.write("a user's print\n")
            await connection.send("printed")
        case "die":
            await connection.send("before")
            connection._writer.write((1000).to_bytes(4, "big") + b"only the beginning")
            await connection._writer.drain()
            os._exit(9)
        case "stuck":
            await connection.send("stuck")
            while True:
                time.sleep(60)  # noqa: ASYNC251 - a blocked loop is the point
        case {"run": argv}:
            await run_program(argv)
        case _:
            await connection.send(message)


asyncio.run(main())

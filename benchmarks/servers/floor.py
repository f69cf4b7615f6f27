"""The floor's server over stdio: pipe transports, no thread."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.floor_protocol import Server
from benchmarks.floor_streams import LineProtocol


async def main() -> None:
    """Serve until the end of input."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    server = Server(writer.write)
    await loop.connect_read_pipe(lambda: LineProtocol(server.take_line, ended.set), sys.stdin)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())

"""What every test against other people's libraries shares, and what a run says it did not look at."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.interop.peers import NODE_ABSENT, Target, command_of, has_node, listening

Reach = Callable[[str, str], Target]


@pytest.fixture(params=["stdio", "sse"])
def transport(request: pytest.FixtureRequest) -> str:
    """Return each transport in turn."""
    return request.param


@pytest.fixture(scope="session")
def reach() -> Iterator[Reach]:
    """Give a function from a server of `servers/` and a transport to what connects to it.

    Over stdio that is a command, so every connection has a process of its own; what listens is started once.
    """
    urls: dict[str, str] = {}
    with ExitStack() as stack:

        def reach(server: str, transport: str) -> Target:
            if transport == "stdio":
                return command_of(server)
            if server not in urls:
                urls[server] = stack.enter_context(listening(command_of(server, transport)))
            return urls[server]

        yield reach


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which peers this run did not meet."""
    if not has_node():
        terminalreporter.section("not checked")
        terminalreporter.line(f"{NODE_ABSENT}, so nothing was tried with the servers and clients from npm.")

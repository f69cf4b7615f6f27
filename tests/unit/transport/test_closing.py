"""The clean-up that outlives whoever asked for it."""

import asyncio

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.transport.closing import ClosingTransport, transport_error


class Steps(ClosingTransport):
    """Its clean-up is one step that ends when it is told to."""

    def __init__(self) -> None:
        super().__init__(0.01)
        self.done = asyncio.Event()
        self.steps: list[str] = []

    async def step(self) -> None:
        self.steps.append("begun")
        await self.done.wait()
        self.steps.append("ended")

    async def _clean_up(self) -> None:
        await super()._clean_up()
        await self._within_timeout(asyncio.create_task(self.step()))

    def fail(self, error: MCPTransportError) -> None:
        assert error is self._fail(error)


async def test_close_waits_for_the_clean_up() -> None:
    transport = Steps()
    transport.done.set()
    await transport.close()

    assert ["begun", "ended"] == transport.steps


async def test_a_step_that_takes_too_long_is_cancelled() -> None:
    transport = Steps()
    await transport.close()

    assert ["begun"] == transport.steps


async def test_a_step_that_fails_does_not_disturb(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Steps):
        async def step(self) -> None:
            raise OSError("stuck")

    with caplog.at_level("DEBUG", "suaveplan_mcp.transport"):
        await Failing().close()

    assert ["while closing the transport: OSError('stuck')"] == caplog.messages


async def test_the_transport_is_closed_before_the_clean_up_begins() -> None:
    transport, states = Steps(), list[object]()
    transport.on_close(lambda: states.append((transport.closed, list(transport.steps))))
    await transport.close()

    assert [(True, [])] == states


async def test_a_cancelled_clean_up_leaves_no_timer_behind() -> None:
    transport = Steps()
    closing = asyncio.create_task(transport.close())
    for _ in range(3):
        await asyncio.sleep(0)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await closing
    assert ["begun"] == transport.steps


async def test_the_first_failure_is_the_one_that_is_kept() -> None:
    transport = Steps()
    first, second = transport_error("first"), transport_error("second", OSError())
    transport.fail(first)
    transport.fail(second)
    await transport.close()

    assert first is transport.failure
    assert MCP_CODES.TRANSPORT_ERROR == first.code

"""The entries of the two tables: limits that move and pause, progress on its way, signals and tasks."""

import asyncio
import gc
import logging

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.in_flight import SENT, InboundCall, PendingRequest, ProgressQueue
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.progress import ProgressNotificationParams
from tests.unit.runtime.pairs import never, turns


def pending(idle: float | None = None, total: float | None = None) -> PendingRequest:
    """Return a request that was sent at 100 on the clock."""
    entry = PendingRequest("ask", asyncio.get_running_loop().create_future())
    entry.limit(100, idle, total)
    return entry


def report(value: float) -> ProgressNotificationParams:
    return ProgressNotificationParams(progress_token=0, progress=value)


# Requests of ours


@pytest.mark.parametrize(
    ("idle", "total", "at_first", "after_progress"),
    [
        (None, None, None, None),
        (10, None, 110, 119),
        (10, 15, 110, 115),
        (10, 5, 105, 105),
        (None, 15, 115, 115),
        (0, None, 100, 109),
    ],
)
async def test_the_nearer_limit_counts(
    idle: float | None, total: float | None, at_first: float | None, after_progress: float | None
) -> None:
    entry = pending(idle, total)
    first = entry.deadline
    entry.restart(109)

    assert (at_first is not None, at_first, after_progress) == (entry.limited, first, entry.deadline)


@pytest.mark.parametrize("total", [None, 50])
async def test_a_held_request_has_no_deadline_and_goes_on_where_it_stopped(total: float | None) -> None:
    entry = pending(10, total)
    entry.hold(104)
    held = entry.deadline
    entry.release(204)

    assert (None, 210, total and 250) == (held, entry.deadline, entry.last_deadline)


async def test_a_request_without_limits_has_none_after_a_hold() -> None:
    entry = pending()
    entry.hold(104)
    entry.release(204)

    assert (None, None) == (entry.deadline, entry.last_deadline)


async def test_holds_may_overlap() -> None:
    entry = pending(10)
    entry.hold(104)
    entry.hold(150)
    entry.release(160)
    between = entry.deadline
    entry.release(204)

    assert (None, 210) == (between, entry.deadline)


async def test_progress_during_a_hold_counts_from_its_end() -> None:
    entry = pending(10)
    entry.hold(109)
    entry.restart(150)
    assert entry.deadline is None
    entry.release(209)

    assert 219 == entry.deadline


async def test_the_first_outcome_counts() -> None:
    entry = pending()
    entry.succeed("yes")
    entry.succeed("no")
    entry.fail(ValueError())

    assert "yes" == await entry.future


async def test_a_failure_nobody_looks_at_is_no_reason_to_complain(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "asyncio"):
        pending().fail(ValueError("unseen"))
        gc.collect()

    assert [] == caplog.records


async def test_a_request_remembers_its_delivery_for_the_notice_that_gives_it_up() -> None:
    delivery = Delivery(headers={"a": "b"})

    assert delivery is PendingRequest("ask", asyncio.get_running_loop().create_future(), delivery).delivery


# Progress


async def test_reports_are_delivered_in_order_before_the_outcome() -> None:
    entry, heard = pending(), list[object]()
    entry.progress = ProgressQueue(lambda params: heard.append(params.progress))
    delivering = asyncio.create_task(entry.progress.deliver_until(entry.future))
    await turns()

    entry.progress.push(report(1))
    entry.progress.push(report(2))
    entry.succeed("done")
    await delivering

    assert [1, 2] == heard


async def test_a_failure_wakes_whoever_waits_for_progress() -> None:
    entry = pending()
    entry.progress = ProgressQueue(lambda params: params)
    delivering = asyncio.create_task(entry.progress.deliver_until(entry.future))
    await turns()

    entry.fail(ValueError("over"))
    await delivering

    with pytest.raises(ValueError, match="over"):
        await entry.future


async def test_reports_that_come_during_a_slow_callback_wait_for_it() -> None:
    entry, heard = pending(), list[object]()

    async def slow(params: ProgressNotificationParams) -> None:
        heard.append(f"begin {params.progress}")
        await turns(3)
        heard.append(f"end {params.progress}")

    entry.progress = ProgressQueue(slow)
    delivering = asyncio.create_task(entry.progress.deliver_until(entry.future))
    entry.progress.push(report(1))
    await turns(2)
    entry.progress.push(report(2))
    entry.succeed("done")
    await delivering

    assert ["begin 1", "end 1", "begin 2", "end 2"] == heard


async def test_a_report_may_be_awaited_and_need_not_be() -> None:
    await SENT
    await SENT


# Calls of theirs


def call() -> InboundCall:
    return InboundCall(7, "work", None, None)


async def test_the_signal_of_a_call_is_aborted_when_it_is_given_up() -> None:
    inbound = call()
    signal = inbound.signal
    assert signal is inbound.signal

    inbound.give_up("user")

    assert (True, "user") == (signal.aborted, signal.reason)


async def test_the_signal_of_a_call_that_is_over_is_aborted() -> None:
    inbound = call()
    inbound.open = False

    assert inbound.signal.aborted
    with pytest.raises(MCPError) as caught:
        inbound.signal.throw_if_aborted()
    assert MCP_CODES.REQUEST_CANCELLED == caught.value.code


async def test_giving_up_a_call_cancels_its_task() -> None:
    inbound = call()
    inbound.task = asyncio.create_task(never())
    await turns()

    inbound.give_up(None)
    await asyncio.wait([inbound.task])

    assert inbound.task.cancelled()


async def test_a_task_that_gives_up_its_own_call_runs_to_its_end() -> None:
    inbound, finished = call(), list[str]()

    async def work() -> None:
        inbound.give_up("my own end")
        await turns(1)
        finished.append("yes")

    inbound.task = asyncio.create_task(work())
    await inbound.task

    assert ["yes"] == finished


def test_everything_that_belongs_to_a_call_is_sent_where_it_came_from() -> None:
    local, remote = call(), call()
    remote.delivery = Delivery(principal="me")

    assert (None, Delivery(related_request=7)) == (local.reply_delivery, remote.reply_delivery)

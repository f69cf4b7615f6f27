"""The event bus: who hears what, in which order, and what a faulty handler does to the others."""

from collections.abc import Callable

import pytest
from msgspec import Struct

from suaveplan_mcp.events import (
    EVENTS,
    ConnectionClosed,
    ConnectionOpened,
    EventBus,
    FaultReported,
    ListChanged,
    NotificationEmitted,
    RequestCompleted,
    RequestReceived,
    ResourceUpdated,
)

OPENED = ConnectionOpened("client", "d-1")
CLOSED = ConnectionClosed("client", "d-1", "bye")


def record_into(heard: list[object]) -> Callable[[object], None]:
    return heard.append


@pytest.mark.requirement("lifecycle-events-go-over-one-bus")
def test_opened_and_closed_connections_are_heard_in_that_order() -> None:
    bus, heard = EventBus(), list[object]()
    bus.on("connection:opened", record_into(heard))
    bus.on("connection:closed", record_into(heard))

    bus.emit("connection:opened", OPENED)
    bus.emit("connection:closed", CLOSED)

    assert [OPENED, CLOSED] == heard


@pytest.mark.requirement("lifecycle-events-go-over-one-bus")
def test_a_request_is_heard_when_received_and_when_completed() -> None:
    bus, heard = EventBus(), list[object]()
    received = RequestReceived("server", "tools/call", 7)
    completed = RequestCompleted("server", "tools/call", 7, 1.5, "success")
    bus.on("request:received", record_into(heard))
    bus.on("request:completed", record_into(heard))

    bus.emit("request:received", received)
    bus.emit("request:completed", completed)

    assert [received, completed] == heard


@pytest.mark.requirement("lifecycle-events-go-over-one-bus")
def test_a_notification_is_heard_with_its_params() -> None:
    bus, heard = EventBus(), list[object]()
    bus.on("notification:emitted", record_into(heard))

    bus.emit("notification:emitted", NotificationEmitted("server", "notifications/progress", {"progress": 1}))

    assert [NotificationEmitted("server", "notifications/progress", {"progress": 1})] == heard


def test_updated_resources_and_changed_lists_are_heard() -> None:
    bus, heard = EventBus(), list[object]()
    bus.on("resource:updated", record_into(heard))
    bus.on("list:changed", record_into(heard))

    bus.emit("resource:updated", ResourceUpdated("mem://x"))
    bus.emit("list:changed", ListChanged("tools"))

    assert [ResourceUpdated("mem://x"), ListChanged("tools")] == heard


def test_the_reason_for_closing_may_be_absent() -> None:
    assert ConnectionClosed("server", "d", None) == ConnectionClosed("server", "d")


@pytest.mark.parametrize("payload", EVENTS.values())
def test_payloads_cannot_be_changed_by_a_handler(payload: type[Struct]) -> None:
    assert payload.__struct_config__.frozen


def test_handlers_run_in_the_order_they_subscribed() -> None:
    bus, heard = EventBus(), list[str]()
    for name in ("first", "second", "third"):
        bus.on("connection:opened", lambda _, name=name: heard.append(name))

    bus.emit("connection:opened", OPENED)

    assert ["first", "second", "third"] == heard


def test_a_handler_subscribed_twice_is_called_twice_and_leaves_once_at_a_time() -> None:
    bus, heard = EventBus(), list[object]()
    handler = record_into(heard)
    leave = bus.on("connection:opened", handler)
    bus.on("connection:opened", handler)

    bus.emit("connection:opened", OPENED)
    leave()
    bus.emit("connection:opened", OPENED)

    assert [OPENED] * 3 == heard


def test_unsubscribing_twice_does_nothing() -> None:
    bus, heard = EventBus(), list[object]()
    leave = bus.on("connection:opened", record_into(heard))
    bus.on("connection:opened", record_into(heard))

    leave()
    leave()
    bus.emit("connection:opened", OPENED)

    assert [OPENED] == heard


def test_unsubscribing_the_last_handler_twice_does_nothing() -> None:
    bus = EventBus()
    leave = bus.on("connection:opened", print)

    leave()
    leave()

    assert not bus.has_listeners("connection:opened")


def test_an_event_has_listeners_only_while_somebody_subscribes_to_it() -> None:
    bus = EventBus()
    before = bus.has_listeners("request:received")
    leave = bus.on("request:received", print)
    during, elsewhere = bus.has_listeners("request:received"), bus.has_listeners("request:completed")
    leave()

    assert (False, True, False, False) == (before, during, elsewhere, bus.has_listeners("request:received"))


def test_a_handler_that_subscribes_another_does_not_lengthen_the_current_event() -> None:
    bus, heard = EventBus(), list[object]()
    bus.on("connection:opened", lambda _: bus.on("connection:opened", record_into(heard)))

    bus.emit("connection:opened", OPENED)

    assert [] == heard


def test_a_handler_that_leaves_still_hears_the_event_under_way() -> None:
    bus, heard = EventBus(), list[object]()
    bus.on("connection:opened", lambda _: leave())
    leave = bus.on("connection:opened", record_into(heard))

    bus.emit("connection:opened", OPENED)
    bus.emit("connection:opened", OPENED)

    assert [OPENED] == heard


def test_once_hears_the_first_event_only() -> None:
    bus, heard = EventBus(), list[object]()
    bus.once("connection:opened", record_into(heard))

    bus.emit("connection:opened", OPENED)
    bus.emit("connection:opened", OPENED)

    assert [OPENED] == heard
    assert not bus.has_listeners("connection:opened")


def test_once_can_be_taken_back() -> None:
    bus, heard = EventBus(), list[object]()
    leave = bus.once("connection:opened", record_into(heard))

    leave()
    bus.emit("connection:opened", OPENED)

    assert [] == heard


def test_once_hears_a_nested_event_and_not_the_outer_one_as_well() -> None:
    bus, heard = EventBus(), list[object]()
    inner = ConnectionOpened("client", "inner")
    bus.once("connection:opened", lambda _: bus.emit("connection:opened", inner))
    bus.once("connection:opened", record_into(heard))

    bus.emit("connection:opened", OPENED)

    assert [inner] == heard


@pytest.mark.requirement("lifecycle-events-go-over-one-bus")
def test_a_faulty_handler_is_reported_and_the_others_still_run() -> None:
    bus, heard, faults = EventBus("server"), list[object](), list[FaultReported]()
    error = ValueError("broken handler")

    def fail(_: object) -> None:
        raise error

    bus.on("fault:reported", faults.append)
    bus.on("connection:opened", fail)
    bus.on("connection:opened", record_into(heard))

    bus.emit("connection:opened", OPENED)

    assert [OPENED] == heard
    assert [
        FaultReported("server", None, "a handler of the event connection:opened raised ValueError", error)
    ] == faults


def test_a_faulty_handler_disturbs_nobody_when_no_one_listens_to_faults() -> None:
    bus = EventBus()
    bus.on("connection:opened", lambda payload: payload.no_such_attribute)  # pyright: ignore[reportAttributeAccessIssue]

    bus.emit("connection:opened", OPENED)

    assert bus.has_listeners("connection:opened")


def test_a_faulty_handler_of_faults_is_not_reported_to_itself() -> None:
    bus, faults = EventBus(), list[FaultReported]()

    def fail(fault: FaultReported) -> None:
        faults.append(fault)
        raise ValueError("again")

    fault = FaultReported("client", "d-1", "a frame could not be read")
    bus.on("fault:reported", fail)

    bus.emit("fault:reported", fault)

    assert [fault] == faults


def test_an_interrupt_of_the_process_passes_through() -> None:
    bus = EventBus()

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    bus.on("connection:opened", interrupt)

    with pytest.raises(KeyboardInterrupt):
        bus.emit("connection:opened", OPENED)


@pytest.mark.parametrize("subscribe", [EventBus.on, EventBus.once, EventBus.emit])
def test_an_unknown_event_is_refused_by_naming_the_known_ones(subscribe: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="no event 'connection:open'.*connection:opened, .*fault:reported"):
        subscribe(EventBus(), "connection:open", print)

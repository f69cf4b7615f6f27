"""Which requests over HTTP are served (case 37)."""

import logging

import pytest

from suaveplan_mcp.transport.http_guard import HttpGuard

LOOPBACK = "127.0.0.1"
NETWORK = "192.0.2.7"
PUBLIC = ["mcp.example.com"]


def status(guard: HttpGuard, server: str = LOOPBACK, **headers: str) -> int:
    """Return the status of the refusal, 200 where there is none."""
    refusal = guard.check(headers, server)
    return 200 if refusal is None else refusal.status


@pytest.mark.parametrize("server", [LOOPBACK, "127.1.2.3", "::1", "::ffff:127.0.0.1", ""])
@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("LocalHost:8000", 200),
        ("localhost.:8000", 200),
        ("[::1]:8000", 200),
        ("[::1]", 200),
        ("evil.example", 421),
        ("evil.example:8000", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("0.0.0.0:8000", 421),
        ("localhost@evil.example", 421),
        ("localhost, evil.example", 421),
        ("", 421),
    ],
)
def test_at_a_loopback_address_only_loopback_names_are_served(server: str, host: str, expected: int) -> None:
    assert expected == status(HttpGuard(), server, host=host)


def test_a_request_without_a_host_is_served_since_no_browser_sends_one() -> None:
    assert 200 == status(HttpGuard())


@pytest.mark.parametrize("server", [NETWORK, "2001:db8::7", "/run/mcp.sock"])
def test_where_any_name_may_lead_the_host_is_not_checked_until_the_names_are_given(server: str) -> None:
    assert 200 == status(HttpGuard(), server, host="mcp.example.com")
    assert 421 == status(HttpGuard(allowed_hosts=PUBLIC), server, host="evil.example")


def test_the_very_address_that_a_request_arrived_at_is_a_name_of_the_server() -> None:
    assert 200 == status(HttpGuard(allowed_hosts=PUBLIC), NETWORK, host=f"{NETWORK}:8000")
    assert 200 == status(HttpGuard(), "TestServer", host="testserver")
    assert 421 == status(HttpGuard(), "testserver", host="evil.example")


@pytest.mark.parametrize("server", [LOOPBACK, NETWORK])
@pytest.mark.parametrize(
    ("entry", "host", "expected"),
    [
        ("mcp.example.com", "mcp.example.com", 200),
        ("mcp.example.com", "MCP.EXAMPLE.COM:443", 200),
        ("MCP.example.com.", "mcp.example.com:8000", 200),
        ("mcp.example.com", "other.example.com", 421),
        ("mcp.example.com", "localhost:8000", 200),
        ("mcp.example.com:443", "mcp.example.com:443", 200),
        ("mcp.example.com:443", "mcp.example.com", 200),
        ("mcp.example.com:443", "mcp.example.com:8000", 421),
        ("mcp.example.com:8000", "mcp.example.com", 421),
        ("mcp.example.com:*", "mcp.example.com:8000", 200),
        ("2001:db8::1", "[2001:db8::1]:8000", 200),
        ("[2001:db8::1]:8000", "[2001:db8::1]:8000", 200),
        ("*", "anything.example", 200),
    ],
)
def test_given_names_are_served_with_an_optional_port_and_without_regard_to_case(
    server: str, entry: str, host: str, expected: int
) -> None:
    assert expected == status(HttpGuard(allowed_hosts=[entry]), server, host=host)


def test_an_empty_list_of_hosts_leaves_the_loopback_names() -> None:
    guard = HttpGuard(allowed_hosts=[])

    assert (200, 421) == (status(guard, NETWORK, host="localhost"), status(guard, NETWORK, host="mcp.example.com"))


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:3000", 200),
        ("https://127.0.0.1", 200),
        ("HTTP://[::1]:8000", 200),
        ("http://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://user@localhost", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_at_a_loopback_address_only_pages_of_this_machine_are_served(origin: str, expected: int) -> None:
    assert expected == status(HttpGuard(), origin=origin)
    assert expected == status(HttpGuard(), host="localhost:8000", origin=origin)


def test_a_request_without_an_origin_is_served_since_it_is_of_no_page() -> None:
    assert 200 == status(HttpGuard(), host="localhost:8000")


@pytest.mark.parametrize("server", ["::1", "::ffff:127.0.0.1"])
def test_an_origin_of_this_machine_is_known_at_every_kind_of_loopback_address(server: str) -> None:
    assert 200 == status(HttpGuard(), server, origin="http://localhost:3000")


def test_a_page_of_the_users_own_machine_may_not_use_a_server_elsewhere() -> None:
    guard = HttpGuard(allowed_hosts=PUBLIC)

    assert 403 == status(guard, NETWORK, host="mcp.example.com", origin="http://localhost:3000")
    assert 403 == status(guard, NETWORK, origin="http://localhost:3000")


def test_a_page_under_a_name_that_only_leads_here_is_refused_even_where_hosts_are_not_checked() -> None:
    assert 403 == status(HttpGuard(), NETWORK, host="evil.example", origin="http://evil.example")


def test_a_request_with_a_host_that_cannot_be_read_is_not_taken_for_one_of_this_machine() -> None:
    assert 403 == status(HttpGuard(), NETWORK, host="a b", origin="http://localhost")


def test_pages_of_the_servers_own_names_are_served() -> None:
    guard = HttpGuard(allowed_hosts=PUBLIC)

    assert 200 == status(guard, NETWORK, host="mcp.example.com", origin="https://mcp.example.com")
    assert 200 == status(guard, NETWORK, host="mcp.example.com", origin=f"http://{NETWORK}:8000")
    assert 403 == status(guard, NETWORK, host="mcp.example.com", origin="https://other.example.com")


@pytest.mark.parametrize(
    ("entry", "origin", "expected"),
    [
        ("https://app.example.com", "https://app.example.com", 200),
        ("https://app.example.com/", "https://APP.example.com", 200),
        ("https://app.example.com", "https://app.example.com:8443", 200),
        ("https://app.example.com", "http://app.example.com", 403),
        ("https://app.example.com:443", "https://app.example.com", 200),
        ("https://app.example.com:443", "https://app.example.com:8443", 403),
        ("http://app.example.com:80", "http://app.example.com", 200),
        ("http://app.example.com:443", "http://app.example.com", 403),
        ("vscode-webview://*", "vscode-webview://panel", 403),
        ("app.example.com", "http://app.example.com", 200),
        ("https://app.example.com", "https://app.example.com.evil.example", 403),
        ("null", "null", 200),
        ("https://app.example.com", "null", 403),
        ("*", "http://anything.example", 200),
        ("*", "null", 200),
    ],
)
def test_given_origins_are_served_with_optional_scheme_and_port(entry: str, origin: str, expected: int) -> None:
    assert expected == status(HttpGuard(allowed_origins=[entry]), origin=origin)


@pytest.mark.parametrize("entry", ["https://mcp.example.com", "mcp.example.com/mcp", "", "a b"])
def test_an_entry_that_is_no_host_is_refused_where_the_server_is_made(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed_hosts"):
        HttpGuard(allowed_hosts=[entry])


@pytest.mark.parametrize("entry", ["https://app.example.com/page", "", "https://"])
def test_an_entry_that_is_no_origin_is_refused_where_the_server_is_made(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed_origins"):
        HttpGuard(allowed_origins=[entry])


@pytest.mark.parametrize(
    ("headers", "setting"),
    [({"host": "evil.example"}, "allowed_hosts"), ({"origin": "http://evil.example"}, "allowed_origins")],
)
def test_the_refusal_and_one_line_of_the_log_say_which_setting_to_change(
    headers: dict[str, str], setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = HttpGuard().check(headers, LOOPBACK)

    assert refusal is not None
    assert setting in refusal.text
    assert "evil.example" in refusal.text
    (record,) = caplog.records
    assert (logging.WARNING, True) == (record.levelno, refusal.text in record.getMessage())


def test_what_a_client_sends_cannot_make_a_second_line_of_the_log() -> None:
    refusal = HttpGuard().check({"origin": "http://evil\r\nexample" + "x" * 10_000}, LOOPBACK)

    assert refusal is not None
    assert "\n" not in refusal.text
    assert len(refusal.text) < 400

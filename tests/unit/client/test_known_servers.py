"""What is remembered of servers from one connection to the next."""

from suaveplan_mcp.client.known_servers import KnownServers


def test_what_is_learned_of_a_server_is_found_under_its_key() -> None:
    servers = KnownServers()
    servers.find("a").verdict.era = "handshake"

    assert "handshake" == servers.find("a").verdict.era
    assert None is servers.find("b").verdict.era


def test_two_connections_at_once_learn_together() -> None:
    servers = KnownServers()
    first, second = servers.find("a"), servers.find("a")

    first.verdict.era = "stateless"

    assert "stateless" == second.verdict.era


def test_a_server_is_given_with_its_name_and_what_its_headers_authorize() -> None:
    server = KnownServers().find("a", "https://example.org", "me")

    assert ("https://example.org", "me") == (server.name, server.context)


def test_the_server_that_was_not_asked_for_the_longest_time_is_forgotten() -> None:
    servers = KnownServers(limit=2)
    for key in ("a", "b"):
        servers.find(key).verdict.era = "handshake"
    servers.find("a")

    servers.find("c").verdict.era = "stateless"

    assert ["handshake", "stateless"] == [servers.find(key).verdict.era for key in ("a", "c")]
    assert None is servers.find("b").verdict.era

"""Asking over HTTP: each round may reach another replica, and a state is good for its own user only."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.serving import asgi_app
from suaveplan_mcp.testing import FakeClock
from suaveplan_mcp.testing.asgi import AsgiClient
from suaveplan_mcp.transport.streamable_http.authentication import Principal
from tests.transports.stateless_requests import headers_of, request_of

FORM: Any = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
CAPABILITIES = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
TEN: Any = {"action": "accept", "content": {"amount": 10}}

KEY, NEW_KEY = b"1" * 32, b"2" * 32


class Replica:
    """One of several servers that know the same handlers and keys, and nothing of each other."""

    def __init__(self, *keys: bytes, clock: FakeClock | None = None) -> None:
        self.paid: list[str] = []
        self.server = MCPServer(state_keys=keys or None, wall_clock=clock)

        @self.server.tool
        async def pay(ctx: Context) -> str:
            ctx.progress(1)
            answer = await ctx.elicit("How much?", FORM, key="amount")
            receipt = await ctx.once("pay", lambda: self._pay(answer.content or {}))
            sure = await ctx.elicit("Was that right?", key="right")
            return f"{receipt}: {sure.action}"

        self.client = AsgiClient(asgi_app(self.server, authenticate=_authenticate))

    def _pay(self, content: Mapping[str, object]) -> str:
        self.paid.append(f"paid {content['amount']}")
        return self.paid[-1]

    async def post(self, required: Any = None, *, user: str = "ada", token: str | None = None, **answers: Any) -> Any:
        """Call the tool and return the message that answers, and whether it came in a stream."""
        params: dict[str, Any] = {"name": "pay"}
        if required is not None:
            params |= {"inputResponses": answers, "requestState": required["requestState"]}
        meta = CAPABILITIES if token is None else {**CAPABILITIES, "progressToken": token}
        body, headers = request_of("tools/call", params, **meta), headers_of("tools/call", "pay", authorization=user)
        exchange = await self.client.request("POST", "/mcp", headers=headers, body=body)
        if token is None:
            return json.loads(exchange.body)
        return [json.loads(line[6:]) for line in exchange.body.decode().splitlines() if line.startswith("data: ")]


async def _authenticate(headers: Mapping[str, str]) -> Principal:
    # A new token of the same user says something else each time.
    return Principal(headers["authorization"], claims={"now": object()})


@pytest.mark.requirement("stateless-clients-are-asked-in-results")
async def test_every_round_may_reach_another_replica() -> None:
    first, second, third = Replica(KEY), Replica(KEY), Replica(NEW_KEY, KEY)
    amount = (await first.post())["result"]
    right = (await second.post(amount, amount=TEN))["result"]
    result = (await third.post(right, right={"action": "accept", "content": {}}))["result"]

    assert "paid 10: accept" == result["content"][0]["text"]
    assert [[], ["paid 10"], []] == [replica.paid for replica in (first, second, third)]


@pytest.mark.requirement("request-state-is-sealed")
async def test_a_state_is_of_no_use_to_another_user() -> None:
    replica = Replica(KEY)
    required = (await replica.post(user="ada"))["result"]

    assert -32602 == (await replica.post(required, user="bo", amount=TEN))["error"]["code"]
    assert [] == replica.paid
    assert "result" in await replica.post(required, user="ada", amount=TEN)


@pytest.mark.requirement("request-state-is-sealed")
async def test_a_state_runs_out() -> None:
    clock = FakeClock(1000.0)
    replica = Replica(KEY, clock=clock)
    required = (await replica.post())["result"]
    clock.now += 3601

    assert "requestState" == (await replica.post(required, amount=TEN))["error"]["data"]["path"]


@pytest.mark.requirement("request-state-is-sealed")
async def test_without_keys_no_other_replica_goes_on() -> None:
    required = (await Replica().post())["result"]

    assert "requestState" == (await Replica().post(required, amount=TEN))["error"]["data"]["path"]


async def test_the_question_is_the_last_message_of_a_stream() -> None:
    messages = await Replica(KEY).post(token="t")

    assert "notifications/progress" == messages[0]["method"]
    assert "input_required" == messages[-1]["result"]["resultType"]
    assert 2 == len(messages)

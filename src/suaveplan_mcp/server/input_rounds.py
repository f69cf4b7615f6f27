"""Asking a client that can only be asked in the answer to its own request: the handler is run again for every round.

Spec: basic/patterns/mrtr

A question without an answer yet ends the handler. The client gets all that was asked until then, sends its request
again with the answers, and the handler runs anew; what it asks a second time it is answered at once.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple, Self, TypedDict, cast

from msgspec import Raw
from msgspec.json import Encoder, decode
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.protocol.admission import NOT_JSON, admit_result
from suaveplan_mcp.protocol.caller import is_stateless
from suaveplan_mcp.protocol.forms import check_answer
from suaveplan_mcp.protocol.input_rounds import MAX_ROUNDS, input_request, require_max_rounds
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.asking import Ask, AskResult, Names
from suaveplan_mcp.server.client_requests import ClientRequests
from suaveplan_mcp.server.request_state import MAX_STATE_BYTES, STATE_TTL, Memory, RequestStates, WallClock
from suaveplan_mcp.types.elicitation import ElicitRequestParams, ElicitResult
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.input_responses import InputResponseRequestParams
from suaveplan_mcp.types.sampling import CreateMessageRequestParams

_canonical: Final = Encoder(order="sorted")

_NAMES: Final = ("id", "subject", "sub")


class _Question(NamedTuple):
    """A question that the client may be asked.

    Args:
        ask: it.
        name: its name among those of one run.
        digest: what tells it from others.
    """

    ask: Ask
    name: str
    digest: str


class InputNeededError(BaseException):
    """End a handler because its client has to answer a question first.

    Handlers let it pass, as they do a cancellation: what `finally` and `async with` have to do is done. It is no
    `Exception`, so that `except Exception` does not catch it.

    Args:
        run: what asked.
    """

    def __init__(self, run: "Run") -> None:
        super().__init__("the client has to answer first; what catches this must raise it again")
        self._run = run

    async def result(self) -> InputRequiredResult:
        """Return what asks the client.

        Raises:
            MCPError: `INTERNAL_ERROR`, it was asked often enough, or there is too much to remember.
        """
        return await self._run.conclude()


class RoundOptions(TypedDict, total=False):
    """How a server asks the clients that can only be asked in the answers to their own requests.

    Args:
        state_keys: what seals the `requestState` that they keep: the first key seals, all of them open, each at least
            32 bytes. The replicas of a server must have the same. By default one of its own, so that a call cannot go
            on once the server is gone.
        state_ttl: for how many seconds a client may take to answer; an hour by default.
        max_state_bytes: how long a state may be; 256 KiB by default.
        max_rounds: how often one call may ask its client; 16 by default.
        wall_clock: the seconds since 1970, the same for all replicas.
    """

    state_keys: Sequence[bytes] | None
    state_ttl: float
    max_state_bytes: int
    max_rounds: int
    wall_clock: WallClock | None


class InputRounds:
    """Asks the clients that can only be asked in the answers to their own requests.

    Args:
        client_requests: knows what a client can be asked.
        states: seals what is to be remembered.
        max_rounds: how often one call may ask its client.

    Raises:
        MCPError: `INVALID_PARAMS`, `max_rounds` is less than 1.
    """

    __slots__ = ("client_requests", "max_rounds", "states")

    def __init__(
        self, client_requests: ClientRequests, states: RequestStates | None = None, max_rounds: int = MAX_ROUNDS
    ) -> None:
        self.client_requests = client_requests
        self.states = RequestStates() if states is None else states
        self.max_rounds = require_max_rounds(max_rounds)

    @classmethod
    def with_options(
        cls,
        client_requests: ClientRequests,
        *,
        state_keys: Sequence[bytes] | None = None,
        state_ttl: float = STATE_TTL,
        max_state_bytes: int = MAX_STATE_BYTES,
        max_rounds: int = MAX_ROUNDS,
        wall_clock: WallClock | None = None,
    ) -> Self:
        """Return what asks, as `RoundOptions` say.

        Raises:
            MCPError: `INVALID_PARAMS`, an option cannot be used; the error names it.
        """
        states = RequestStates(state_keys, ttl=state_ttl, max_bytes=max_state_bytes, wall_clock=wall_clock)
        return cls(client_requests, states, max_rounds)

    def begin(self, call: InboundCall) -> "Run | None":
        """Begin to run the handler of a call; None where its client is asked in another way, or cannot be asked.

        Raises:
            MCPError: `INVALID_PARAMS`, the client sent a state that is none of ours, not for this request, or too old.
        """
        params = call.params
        if isinstance(params, InputResponseRequestParams) and is_stateless(call.caller):
            return Run(call, params, self)
        return None


class Run:
    """One run of the handler of a call. Each round of questions is followed by another one.

    Args:
        call: the call.
        params: its params.
        rounds: what is common to all calls.
    """

    __slots__ = (
        "_answers",
        "_begun",
        "_call",
        "_memory",
        "_names",
        "_needed",
        "_once",
        "_params",
        "_private",
        "_rounds",
    )

    # What is set as soon as it is needed: most handlers never ask.
    _memory: Memory
    _names: Names
    _answers: dict[str, tuple[str, Raw]]
    _once: dict[str, Raw]
    _private: bool
    _needed: dict[str, _Question]

    def __init__(self, call: InboundCall, params: InputResponseRequestParams, rounds: InputRounds) -> None:
        self._call = call
        self._params = params
        self._rounds = rounds
        self._begun = False
        if params.request_state is not None:
            self._begin(rounds.states.open(params.request_state, self._binding()))

    def _begin(self, memory: Memory) -> None:
        self._begun = True
        self._memory = memory
        self._names = Names()
        # By name: the digest of the question, and the answer.
        self._answers = dict(memory.answers)
        self._once = dict(memory.once)
        self._private = memory.private
        self._needed = {}

    @property
    def waits(self) -> bool:
        """Whether a question has no answer yet, so that the handler must not go on."""
        return self._begun and bool(self._needed)

    async def ask(self, asks: Sequence[Ask]) -> list[AskResult]:
        """Return the answers, where the client has given all of them.

        Raises:
            InputNeededError: it has not.
            AskError: one of the questions cannot be put to it, or has the key of another one.
            MissingLibraryError: what the server answers itself cannot be kept for the next round.
        """
        if not self._begun:
            self._begin(Memory())
        requests, caller = self._rounds.client_requests, self._call.caller
        askable = [requests.askable(caller, ask) for ask in asks]
        questions = [_Question(ask, *self._names.name(ask)) for ask in askable]
        answers = [self._answer_to(question) for question in questions]
        own = [requests.is_answered_here(caller, ask) for ask in askable]
        needed = [q for q, answer, here in zip(questions, answers, own, strict=True) if answer is None and not here]
        if needed:
            self._needed.update((question.name, question) for question in needed)
            raise InputNeededError(self)
        return [
            await self._answer_here(question) if answer is None else answer
            for question, answer in zip(questions, answers, strict=True)
        ]

    def recall(self, key: str) -> Raw | None:
        """Return the value of what was done once in an earlier run; None where it has to be done.

        Raises:
            MissingLibraryError: its value could not be kept.
        """
        if not self._begun:
            self._begin(Memory())
        kept = self._once.get(key)
        if kept is None:
            self._rounds.states.require_secrecy()
        return kept

    def remember(self, key: str, value: Raw) -> None:
        """Keep the value of what was done once."""
        self._once[key] = value

    async def conclude(self) -> InputRequiredResult:
        """Return what asks the client for all that has no answer yet.

        Raises:
            MCPError: `INTERNAL_ERROR`, it was asked often enough, or there is too much to remember.
        """
        # What is being done once must not be done again because nobody waited for it.
        unfinished = [done for done in (self._call.once or {}).values() if not done.done()]
        if unfinished:
            await asyncio.wait(unfinished)
        rounds, limit = self._memory.rounds + 1, self._rounds.max_rounds
        if rounds > limit:
            hint = "a question that differs from run to run is asked each time; make it with ctx.once"
            text = f"{self._call.method} has asked its client {limit} times already (max_rounds); {hint}"
            raise MCPError(MCP_CODES.INTERNAL_ERROR, text, context={"max_rounds": limit})
        asked = {name: question.digest for name, question in self._needed.items()}
        memory = Memory(rounds, asked, self._answers, self._once, self._private)
        return InputRequiredResult(
            input_requests={name: input_request(question.ask.params) for name, question in self._needed.items()},
            request_state=self._rounds.states.seal(memory, self._binding()),
        )

    def _answer_to(self, question: _Question) -> AskResult | None:
        """Return what is known to be the answer; None where the question has to be asked, or asked again."""
        name, digest = question.name, question.digest
        kept = self._answers.get(name)
        if kept is not None and kept[0] == digest:
            return _read(question.ask, kept[1])
        came = (self._params.input_responses or {}).get(name)
        # Without a state nobody knows what was asked, and the answer has to speak for itself.
        if came is None or (self._params.request_state is not None and self._memory.asked.get(name) != digest):
            return None
        answer = _read(question.ask, came)
        if answer is not None:
            self._answers[name] = (digest, came)
        return answer

    async def _answer_here(self, question: _Question) -> AskResult:
        self._rounds.states.require_secrecy()
        answer = await self._rounds.client_requests.sample_here(cast("CreateMessageRequestParams", question.ask.params))
        self._answers[question.name] = (question.digest, Raw(encode(answer)))
        self._private = True
        return answer

    def _binding(self) -> bytes:
        """Return what ties a state to the request, and to who sends it."""
        params = replace(self._params, meta=None, input_responses=None, request_state=None)
        request: dict[str, object] = decode(encode(params))
        if not request.get("arguments", True):
            # No arguments can be written in two ways.
            del request["arguments"]
        delivery = self._call.delivery
        who = None if delivery is None else identify(delivery.principal)
        bound = (self._call.caller.revision, self._call.method, request, who)
        return sha256(_canonical.encode(bound)).digest()


def _read(ask: Ask, answer: Raw) -> AskResult | None:
    """Return an answer in its type; None for one that is no answer to the question."""
    try:
        result = cast("AskResult", admit_result(METHODS[ask.method]["server"], answer)[0])
        if isinstance(ask.params, ElicitRequestParams):
            check_answer(ask.params, cast("ElicitResult", result))
    except MCPError:
        return None
    return result


def needed_in(group: BaseExceptionGroup[BaseException]) -> InputNeededError | None:
    """Return the end of a handler in a group that holds nothing else; None for all other groups."""
    if group.split(InputNeededError)[1] is not None:
        return None
    first = group.exceptions[0]
    return first if isinstance(first, InputNeededError) else needed_in(cast("BaseExceptionGroup[BaseException]", first))


def identify(principal: object) -> object:
    """Return what stays the same of a principal from one request to the next, as JSON.

    That is its `id`, `subject` or `sub`, with the `iss` of its claims; of one that has none of them it is all of it.

    Raises:
        MCPError: `INTERNAL_ERROR`, nothing that can be compared does.
    """
    read = _reader(principal)
    for name in _NAMES:
        value = read(name)
        if isinstance(value, str):
            issuer = _reader(read("claims"))("iss") or read("iss")
            return [name, value, issuer if isinstance(issuer, str) else None]
    try:
        return decode(encode(principal))
    except NOT_JSON as error:
        text = f"the client cannot be asked: nothing tells its principal, a {type(principal).__name__}, from others"
        raise MCPError(MCP_CODES.INTERNAL_ERROR, text, cause=error) from error


def _reader(value: object) -> Callable[[str], object]:
    """Return what gives a part of a value by its name, None where it has none."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get
    return lambda name: getattr(value, name, None)

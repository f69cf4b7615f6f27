"""Questions to a client, as data, and the ways to wait for an answer."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.server.asking import Answer, AskError, Names, elicitation, roots, sampling, sampling_of
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.elicitation import ElicitRequestParams
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, SamplingMessage


@dataclass
class Contact:
    name: Annotated[str, msgspec.Meta(max_length=50)]
    age: int = 18
    size: Literal["s", "m"] = "m"


class ContactModel(pydantic.BaseModel):
    name: str
    age: int = 18


def _form(schema: object) -> Any:
    params = elicitation("Who?", schema).params
    assert isinstance(params, ElicitRequestParams)
    return params.requested_schema


def test_the_fields_of_a_class_are_the_fields_of_the_form() -> None:
    form = _form(Contact)

    assert ["name"] == form.required
    assert ("string", 50) == (form.properties["name"].type, form.properties["name"].max_length)
    assert ("integer", 18) == (form.properties["age"].type, form.properties["age"].default)
    assert ["m", "s"] == sorted(form.properties["size"].enum)


def test_a_pydantic_model_will_do() -> None:
    form = _form(ContactModel)

    assert (["name"], "integer") == (form.required, form.properties["age"].type)


def test_a_json_schema_is_taken_as_it_is() -> None:
    form = _form({"type": "object", "properties": {"ok": {"type": "boolean"}}})

    assert "boolean" == form.properties["ok"].type


def test_without_a_schema_the_user_says_yes_or_no() -> None:
    assert {} == _form(None).properties


class Nested(msgspec.Struct):
    contact: Contact


class Unknown:
    """No type that becomes a schema."""


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "object", "properties": {"a": {"type": "object"}}}, "requestedSchema.properties[...].type"),
        ({"type": "array"}, "requestedSchema.type"),
        (Nested, "requestedSchema.properties[...].type"),
        (Unknown, "requestedSchema"),
        ("text", "requestedSchema"),
        (object(), "(root)"),
    ],
)
def test_a_schema_that_is_more_than_a_form_is_refused_with_its_place(schema: object, path: str) -> None:
    with pytest.raises(AskError, match="this cannot be asked") as caught:
        elicitation("Who?", schema)

    assert (MCP_CODES.INVALID_PARAMS, path) == (caught.value.code, caught.value.context["path"])


def test_a_question_may_send_the_user_to_an_address() -> None:
    named = elicitation("Pay", url="https://pay.example/1", elicitation_id="p1").params
    unnamed = elicitation("Pay", url="https://pay.example/1").params

    assert isinstance(named, ElicitRequestParams)
    assert isinstance(unnamed, ElicitRequestParams)
    assert ("url", "https://pay.example/1", "p1") == (named.mode, named.url, named.elicitation_id)
    assert unnamed.elicitation_id is None


@pytest.mark.parametrize(
    "url", ["", "pay.example", "ftp://pay.example", "https://", "https:///1", "http://a b", "javascript:1"]
)
def test_an_address_must_be_one_of_the_web(url: str) -> None:
    with pytest.raises(AskError, match="url: .* is no address of the web") as caught:
        elicitation("Pay", url=url)

    assert (MCP_CODES.INVALID_PARAMS, "url") == (caught.value.code, caught.value.context["path"])


def test_a_question_has_a_form_or_an_address_but_not_both() -> None:
    with pytest.raises(AskError, match="url: a question has either a form or an address"):
        elicitation("Who?", Contact, url="https://pay.example/1")


def test_text_is_one_message_of_the_users() -> None:
    params = sampling("hi", system_prompt="be brief").params

    assert isinstance(params, CreateMessageRequestParams)
    assert [SamplingMessage(role="user", content=TextContent(text="hi"))] == params.messages
    assert (1000, "be brief") == (params.max_tokens, params.system_prompt)


def test_messages_may_be_plain_json() -> None:
    params = sampling([{"role": "assistant", "content": {"type": "text", "text": "hi"}}], max_tokens=5).params

    assert isinstance(params, CreateMessageRequestParams)
    assert TextContent(text="hi") == params.messages[0].content


def test_whole_params_may_be_plain_json() -> None:
    params = sampling_of({"messages": [], "maxTokens": 5}).params

    assert isinstance(params, CreateMessageRequestParams)
    assert 5 == params.max_tokens


def test_a_malformed_message_is_refused_with_its_place() -> None:
    with pytest.raises(AskError) as caught:
        sampling([{"role": "robot", "content": {"type": "text", "text": "hi"}}])

    assert "messages[0].role" == caught.value.context["path"]


def test_a_question_that_contains_itself_is_refused() -> None:
    ring: Any = {}
    ring["metadata"] = ring

    with pytest.raises(AskError):
        sampling_of({"messages": [], "maxTokens": 5, "metadata": ring})


def test_roots_are_asked_for_with_nothing() -> None:
    assert ("roots/list", RequestParams()) == (roots().method, roots().params)


async def _answer() -> str:
    return "yes"


async def test_an_answer_is_awaited_on_the_loop() -> None:
    assert "yes" == await Answer(_answer, asyncio.get_running_loop())


async def test_waiting_on_the_loop_itself_is_refused() -> None:
    with pytest.raises(RuntimeError, match="await the answer instead"):
        Answer(_answer, asyncio.get_running_loop()).wait()


async def test_a_thread_waits_for_the_answer() -> None:
    answer = Answer(_answer, asyncio.get_running_loop())

    assert "yes" == await asyncio.to_thread(answer.wait)


async def test_a_thread_with_a_loop_of_its_own_awaits_the_answer_or_waits() -> None:
    answer = Answer(_answer, asyncio.get_running_loop())

    async def elsewhere() -> list[str]:
        return [await answer, answer.wait()]

    assert ["yes", "yes"] == await asyncio.to_thread(lambda: asyncio.run(elsewhere()))


async def test_an_error_reaches_the_thread_that_waits() -> None:
    async def refuse() -> str:
        raise AskError(MCP_CODES.METHOD_NOT_FOUND, "no")

    answer = Answer(refuse, asyncio.get_running_loop())

    with pytest.raises(AskError, match="no"):
        await asyncio.to_thread(answer.wait)


def test_questions_without_a_key_are_numbered_by_kind() -> None:
    names = Names()
    asks = [elicitation("a"), roots(), elicitation("b"), sampling("a"), elicitation("a")]

    expected = ["elicitation-1", "roots-1", "elicitation-2", "sampling-1", "elicitation-3"]
    assert expected == [names.name(ask)[0] for ask in asks]


def test_a_question_with_a_key_may_be_asked_again() -> None:
    names, ask = Names(), replace(elicitation("a"), key="k")

    assert ["k", "k-2", "k-3"] == [names.name(ask)[0] for _ in range(3)]


def test_a_key_names_one_question_only() -> None:
    names = Names()
    names.name(replace(elicitation("a"), key="elicitation-1"))

    assert "elicitation-2" == names.name(elicitation("b"))[0]
    with pytest.raises(AskError, match="'elicitation-1' is the key of another question") as caught:
        names.name(replace(elicitation("b"), key="elicitation-1"))
    assert MCP_CODES.INVALID_PARAMS == caught.value.code


def test_the_name_of_a_visit_does_not_make_another_question() -> None:
    first, second = (elicitation("a", url="https://a.example", elicitation_id=name) for name in ("1", "2"))

    assert Names().name(first) == Names().name(second)

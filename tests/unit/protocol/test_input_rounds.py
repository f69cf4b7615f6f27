"""Which question which client can be asked, and how it looks in a result."""

import pytest

from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.protocol.input_rounds import Question, input_request, lacking
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.capabilities import (
    ClientCapabilities,
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
)
from suaveplan_mcp.types.elicitation import ElicitRequestedSchema, ElicitRequestFormParams, ElicitRequestURLParams
from suaveplan_mcp.types.sampling import CreateMessageRequestParams

FORM = ElicitRequestFormParams(message="?", requested_schema=ElicitRequestedSchema(type="object", properties={}))
ADDRESS = ElicitRequestURLParams(message="?", mode="url", url="https://a.example")
SAMPLE = CreateMessageRequestParams(messages=[], max_tokens=1)
ROOTS = RequestParams()

FORMS = ElicitationCapability(form={})
ADDRESSES = ElicitationCapability(url={})


@pytest.mark.parametrize(
    ("question", "declared", "path"),
    [
        (FORM, ClientCapabilities(), "elicitation"),
        (FORM, ClientCapabilities(elicitation=ADDRESSES), "elicitation.form"),
        (FORM, ClientCapabilities(elicitation=FORMS), None),
        (FORM, ClientCapabilities(elicitation=ElicitationCapability()), None),
        (ADDRESS, ClientCapabilities(elicitation=FORMS), "elicitation.url"),
        (ADDRESS, ClientCapabilities(elicitation=ADDRESSES), None),
        (SAMPLE, ClientCapabilities(), "sampling"),
        (SAMPLE, ClientCapabilities(sampling=SamplingCapability()), None),
        (ROOTS, ClientCapabilities(), "roots"),
        (ROOTS, ClientCapabilities(roots=RootsCapability()), None),
    ],
)
def test_a_client_that_did_not_declare_enough_lacks_something(
    question: Question, declared: ClientCapabilities, path: str | None
) -> None:
    assert path == lacking(question, declared, "2026-07-28")


@pytest.mark.parametrize(
    ("question", "method"),
    [(FORM, "elicitation/create"), (SAMPLE, "sampling/createMessage"), (ROOTS, "roots/list")],
)
def test_a_question_in_a_result_names_its_method(question: Question, method: str) -> None:
    request = input_request(question)

    assert method == request.method
    assert f'"method":"{method}"'.encode() in encode(request)

"""URI templates, both ways."""

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suaveplan_mcp.server.refusals import MismatchError
from suaveplan_mcp.server.signatures.uri_template import TemplateError, UriTemplate, decode_percent, encode_percent

NAMES = st.text("abcxyz", min_size=1, max_size=3)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("segment", "value"),
    [("%C2%A7%20141", "§ 141"), ("a%2Fb", "a/b"), ("a+b", "a+b"), ("%2520", "%20"), ("a%5Cb", "a\\b"), ("é", "é")],
)
def test_a_value_is_decoded_exactly_once(segment: str, value: str) -> None:
    assert {"id": value} == UriTemplate("res://item/{id}").match(f"res://item/{segment}")


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("res://item/{id}", "res://item/a/b"),
        ("res://item/{id}", "res://item/"),
        ("res://item/{id}", "res://item/a?b"),
        ("res://item/{id}", "res://item/a#b"),
        ("res://item/{id}", "res://other/a"),
        ("res://item/{id}/x", "res://item/a/y"),
        ("res://{a}/{b}/x", "res://1/x"),
        ("res://{a}/{b}", "res:///b"),
        ("res://{a}.{b}", "res://a/b.c"),
        ("res://{+path}/{id}/x", "res://a/b"),
        ("res://{+path}/{id}/x", "res://a//x"),
        ("res://{+path}/{id}/x", "res://a/b?c/x"),
        ("res://{+path}/{a}-{b}", "res://a/b"),
        ("res://{path*}", "res://a?b"),
        ("res://x/{path*}/x", "res://x/x"),
        ("res://plain", "res://plain/more"),
        ("res://plain", "res://"),
        ("res://search{?q}", "res://search?unknown=1"),
        ("res://search{?q}", "res://search?q=1&q=2"),
    ],
)
def test_a_uri_of_another_shape_does_not_match(template: str, uri: str) -> None:
    assert None is UriTemplate(template).match(uri)


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("res://plain", "res://plain", {}),
        ("res://{a}/{b}", "res://1/2", {"a": "1", "b": "2"}),
        ("res://{a,b}", "res://1,2", {"a": "1", "b": "2"}),
        ("res://x{/a,b}", "res://x/1/2", {"a": "1", "b": "2"}),
        ("res://x{.a}", "res://x.json", {"a": "json"}),
        ("res://x{#a}", "res://x#top/1", {"a": "top/1"}),
        ("res://{a}-{b}", "res://1-2-3", {"a": "1", "b": "2-3"}),
        ("res://{a}--x", "res://1---x", {"a": "1-"}),
        ("res:/{/path*}", "res://a/b", {"path": "a/b"}),
        ("file:///{path*}", "file:///a/b/c", {"path": "a/b/c"}),
        ("file:///{+path}", "file:///a/b?c#d", {"path": "a/b?c#d"}),
        (
            "res://{a}/{+path}/meta/{b}.{c}",
            "res://1/x/meta/y/meta/2.3",
            {"a": "1", "path": "x/meta/y", "b": "2", "c": "3"},
        ),
        ("res://s{?q,n}", "res://s", {}),
        ("res://s{?q,n}", "res://s?n=2&q=a%26b", {"q": "a&b", "n": "2"}),
        ("res://s{?q,n}", "res://s?q", {"q": ""}),
        ("res://{+path}{?q}", "res://a/b?q=1", {"path": "a/b", "q": "1"}),
    ],
)
def test_a_uri_gives_its_values(template: str, uri: str, values: dict[str, str]) -> None:
    assert values == UriTemplate(template).match(uri)


@pytest.mark.parametrize("segment", ["%ZZ", "%", "%4", "a%2", "%FF"])
def test_a_malformed_escape_is_refused(segment: str) -> None:
    with pytest.raises(MismatchError) as caught:
        UriTemplate("res://item/{id}").match(f"res://item/{segment}")

    assert "uri" == caught.value.path


@pytest.mark.parametrize("template", ["file:///{path*}", "file:///{+path}"])
@pytest.mark.parametrize(
    "path",
    ["a/../../etc/passwd", "%2e%2e%2fetc", "..%5c..", "/etc/passwd", "a%00", "C:/x", "c:x", "a%5Cb", "..", "%2Fetc"],
)
def test_a_path_that_leads_out_of_its_folder_is_refused(template: str, path: str) -> None:
    with pytest.raises(MismatchError, match="leads out of its folder"):
        UriTemplate(template).match(f"file:///{path}")


@pytest.mark.parametrize("segment", ["..%2Fetc", "%2Fetc", "..", "C:%5Cx", "..%5C..", "%00"])
def test_a_simple_value_that_becomes_such_a_path_is_refused_too(segment: str) -> None:
    with pytest.raises(MismatchError, match="`id` is"):
        UriTemplate("file:///{id}").match(f"file:///{segment}")


def test_the_guard_can_be_switched_off() -> None:
    assert {"path": "../x"} == UriTemplate("file:///{+path}", guard=False).match("file:///../x")


def test_values_of_a_query_are_no_paths() -> None:
    assert {"q": "../x"} == UriTemplate("res://s{?q}").match("res://s?q=../x")


@pytest.mark.parametrize(
    "template",
    "{ } {} {a a} {a}{b} {a}/{a} {+a}/{b*} {+a,b} {a:3} {?a}x {;a} {&a} {a,} {?a*} x?{?a} {1} {?a}{?b}".split(),
)
def test_a_template_that_could_not_be_read_back_is_refused(template: str) -> None:
    with pytest.raises(TemplateError):
        UriTemplate(template)


def test_the_variables_are_known_in_order_the_query_last() -> None:
    template = UriTemplate("res://{b}/{a}{?d,c}")

    assert (("b", "a", "d", "c"), ("d", "c")) == (template.variables, template.query)


def test_only_what_a_variable_may_not_contain_is_escaped() -> None:
    assert "res://a%2Fb/c/d" == UriTemplate("res://{a}/{path*}").expand(a="a/b", path="c/d")
    assert "res://a/b?c%25" == UriTemplate("res://{+path}").expand(path="a/b?c%")
    assert "res://a/b%3Fc?q=%26" == UriTemplate("res://{+path}{?q,r}").expand(path="a/b?c", q="&")


def test_a_variable_without_a_value_is_named() -> None:
    with pytest.raises(KeyError, match="id"):
        UriTemplate("res://{id}").expand()


@given(TEXT)
def test_escaping_is_undone_by_decoding(text: str) -> None:
    assert text == decode_percent(encode_percent(text))


@given(TEXT, TEXT, TEXT, st.none() | TEXT)
def test_what_is_written_is_read_back(a: str, path: str, b: str, query: str | None) -> None:
    values = {"a": a, "path": path, "b": b} | ({} if query is None else {"q": query})
    for text in ("res://{a}/{+path}/{b}{?q}", "res://{a}/{path*}/{b}{?q}", "res://{a}/{path}/{b}{?q}"):
        template = UriTemplate(text, guard=False)

        assert values == template.match(template.expand(**values))


@given(st.text("ab-/.x", max_size=12))
def test_what_is_read_is_written_back(tail: str) -> None:
    template = UriTemplate("res://{a}-{b}/{path*}/x.{c}", guard=False)
    uri = f"res://{tail}"
    values = template.match(uri)

    assert values is None or uri == template.expand(**values)


def test_matching_takes_time_in_proportion_to_the_uri() -> None:
    template = UriTemplate("res://{a}-{b}-{c}-{d}/{+path}/x-{e}-{f}/y")

    def seconds(length: int) -> float:
        uri = "res://" + "-" * length + "/" + "/x-" * length
        start = perf_counter()
        assert None is template.match(uri)
        return perf_counter() - start

    # A backtracking matcher would need hours; the allowance is for a busy machine.
    assert seconds(200_000) < 5

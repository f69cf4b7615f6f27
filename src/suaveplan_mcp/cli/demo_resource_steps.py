"""Steps of the demo's walk: the server's resources and prompts."""

from base64 import b64decode
from typing import Final
from urllib.parse import quote

from msgspec import Struct, convert

from suaveplan_mcp.cli.demo_walk import Step, Walk, expect, expect_refusal, number
from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.types import (
    CompletionArgument,
    EmbeddedResource,
    PromptReference,
    ResourceContents,
    ResourceTemplateReference,
    TextContent,
)

TEMPLATE: Final = "folder:///{+path}"
FINGERPRINT: Final = "demo://fingerprint"
WATCHED: Final = "demo://watched"


class InvalidParams(Struct):
    """What the server says of params that it refuses."""

    path: str
    reason: str


async def list_resources(walk: Walk) -> str:
    """List all resources, page by page, and choose two files to look at more closely."""
    page = await walk.client.list_resources()
    pages, resources = 1, page.resources
    while page.next_cursor is not None:
        page = await walk.client.list_resources(page.next_cursor)
        pages, resources = pages + 1, resources + page.resources
    uris = {resource.uri for resource in resources}
    expect(len(uris) == len(resources), "a resource is listed twice")
    expect({FINGERPRINT, WATCHED} <= uris, "the resources that are no files of the folder are not listed")
    walk.files = [resource for resource in resources if resource.size is not None]
    walk.choose_samples()
    names = ", ".join(resource.name for resource in resources)
    return f"{number(len(resources), 'resource')} on {number(pages, 'page')}: {names}"


async def list_templates(walk: Walk) -> str:
    """List the resource templates."""
    templates = (await walk.client.list_resource_templates()).resource_templates
    expect([template.uri_template for template in templates] == [TEMPLATE], "the one template is not listed")
    return f"{TEMPLATE}: {templates[0].description}"


async def read_text(walk: Walk) -> str:
    """Read a text file, and compare it with what is on the disk."""
    sample = walk.text_file
    if sample is None:
        return "there is no text file here to compare with"
    contents = await read_one(walk, sample.resource.uri)
    text = contents.text or ""
    expect(sample.is_equal(text.encode()), f"{sample.name} is something else on the disk")
    return f"{sample.name}, {contents.mime_type}, {number(len(text), 'character')}: {text}"


async def read_bytes(walk: Walk) -> str:
    """Read what is no text: 32 bytes that are always there, and a file if there is one."""
    digest = b64decode((await read_one(walk, FINGERPRINT)).blob or "")
    expect(len(digest) == 32, f"the fingerprint of the folder has {len(digest)} bytes instead of 32")
    answer = f"the fingerprint of the folder, {digest.hex()}"
    sample = walk.binary_file
    if sample is None:
        return answer
    contents = await read_one(walk, sample.resource.uri)
    content = b64decode(contents.blob or "")
    expect(sample.is_equal(content), f"{sample.name} is something else on the disk")
    return f"{sample.name}, {contents.mime_type}, {number(len(content), 'byte')}; {answer}"


async def read_by_template(walk: Walk) -> str:
    """Read a file by its path in the folder."""
    sample = walk.text_file
    if sample is None:
        return "there is no text file here to ask for"
    uri = f"folder:///{quote(sample.name)}"
    contents = await read_one(walk, uri)
    expect(sample.is_equal((contents.text or "").encode()), f"{uri} is not what {sample.name} is on the disk")
    return f"{uri} is {sample.name}"


async def read_one(walk: Walk, uri: str) -> ResourceContents:
    """Return the one part that a resource has."""
    contents = (await walk.client.read_resource(uri)).contents
    expect(len(contents) == 1, f"{uri} has {len(contents)} parts instead of 1")
    return contents[0]


async def read_nothing(walk: Walk) -> str:
    """Read a file that is not there."""
    name = "there is no such file"
    expect(not (walk.folder / name).exists(), f"{name!r} exists")
    error = await expect_refusal(MCP_CODES.NOT_FOUND, walk.client.read_resource(f"folder:///{quote(name)}"))
    return f"refused with {error.jsonrpc_code}, {error.code}: {error.message}"


async def read_outside(walk: Walk) -> str:
    """Try to get out of the folder."""
    error = await expect_refusal(MCP_CODES.INVALID_PARAMS, walk.client.read_resource("folder:///../secret"))
    return f"refused with {error.jsonrpc_code}, {error.code}: {convert(error.data, InvalidParams).reason}"


# Watching


async def subscribe(walk: Walk) -> str:
    """Subscribe to the file that the demo changes."""
    await walk.client.subscribe_resource(WATCHED)
    return "subscribed"


async def follow_change(walk: Walk) -> str:
    """Change the watched file, and wait until the client has read it again."""
    text = "written by the demo"
    walk.change_watched(text)
    await walk.wait_for("the new content of the watched file", lambda: WATCHED in walk.followed)
    result = walk.client.updated_resource(WATCHED)
    expect(result is not None and result.contents[0].text == text, f"{result!r} came instead of the new content")
    await walk.wait_for_log("watch")
    return f"told, and read again at once: {text}"


async def unsubscribe(walk: Walk) -> str:
    """Unsubscribe, change the file once more, and see that nothing is told any more."""
    await walk.client.unsubscribe_resource(WATCHED)
    walk.notices.clear()
    walk.logs.clear()
    walk.change_watched("written by the demo once more")
    # The server tells of a change first and logs it then, so after the log message nothing can be on its way.
    log = await walk.wait_for_log("watch")
    expect(not walk.notices, "a change was told although nobody is subscribed")
    return f"nothing was told; the server logged: {log}"


# Prompts


async def list_prompts(walk: Walk) -> str:
    """List the prompts."""
    prompts = await walk.client.refresh_prompts()
    forms = [f"{prompt.name}({', '.join(each.name for each in prompt.arguments or [])})" for prompt in prompts]
    expect(forms == ["introduce_folder(audience)", "explain_file(path, audience)"], f"other prompts came: {forms}")
    return ", ".join(forms)


async def get_prompt(walk: Walk) -> str:
    """Fill in both prompts, or the one that needs no file."""
    result = await walk.client.get_prompt("introduce_folder", {"audience": "the demo's reader"})
    content = result.messages[0].content
    expect(isinstance(content, TextContent) and "the demo's reader" in content.text, "the argument is not in the text")
    sample = walk.text_file
    if sample is None:
        return f"1 message: {getattr(content, 'text', '')}"
    result = await walk.client.get_prompt("explain_file", {"path": sample.name})
    enclosed = result.messages[1].content
    text = enclosed.resource.text if isinstance(enclosed, EmbeddedResource) else None
    expect(text is not None and sample.is_equal(text.encode()), f"{sample.name} is not enclosed as it is on the disk")
    return f"{len(result.messages)} messages, the second with {sample.name} inside"


async def complete(walk: Walk) -> str:
    """Complete the beginning of a file's name, for the prompt and for the template."""
    names = [file.name for file in walk.files]
    typed = names[0][:2] if names else "x"
    argument = CompletionArgument(name="path", value=typed)
    suggested: list[str] = []
    for reference in (PromptReference(name="explain_file"), ResourceTemplateReference(uri=TEMPLATE)):
        completion = (await walk.client.complete(reference, argument)).completion
        expected = sorted(name for name in names if typed.lower() in name.lower())
        expect(completion.total == len(expected), f"{completion.total} instead of {len(expected)} suggestions")
        expect(set(completion.values) <= set(expected), "a suggestion has nothing to do with what was typed")
        suggested = completion.values
    return f"{typed!r} may become {', '.join(suggested) or 'nothing'}"


RESOURCE_STEPS: Final = (
    Step("what is there to read?", list_resources, ("resources/list",)),
    Step("and what can be asked for by a pattern?", list_templates, ("resources/templates/list",)),
    Step("a text file, please", read_text, ("resources/read",)),
    Step("and bytes, please", read_bytes, ("resources/read",)),
    Step("a file by its path", read_by_template, ("resources/read",)),
    Step("a file that does not exist", read_nothing, ("resources/read",)),
    Step("a file outside the folder", read_outside, ("resources/read",)),
    Step("tell us when this file changes", subscribe, ("resources/subscribe",)),
    Step("we change it", follow_change, ("notifications/resources/updated", "resources/read")),
    Step("tell us no longer", unsubscribe, ("resources/unsubscribe",)),
)

PROMPT_STEPS: Final = (
    Step("which prompts are there?", list_prompts, ("prompts/list",)),
    Step("fill them in", get_prompt, ("prompts/get",)),
    Step("which files could we mean?", complete, ("completion/complete",)),
)

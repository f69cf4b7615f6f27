// A walk of the TypeScript client through everything that a server of ours has; prints what it saw as JSON.
//
// One argument, JSON: `library` is "client" or "sdk", the package of the client; `command` starts the server, or `url`
// is where it listens; `options` are those of the client, such as `supportedProtocolVersions`.

const { library, command, url, env, options } = JSON.parse(process.argv[2]);

async function loadClient() {
  const { Client, SSEClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return {
    Client,
    SSEClientTransport,
    StdioClientTransport,
    named: (method) => method,
    call: (client, params, settings) => client.callTool(params, settings),
  };
}

async function loadSdk() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const schemas = Object.values(types).filter((schema) => schema?.shape?.method?.value !== undefined);
  const byMethod = new Map(schemas.map((schema) => [schema.shape.method.value, schema]));
  return {
    Client,
    SSEClientTransport,
    StdioClientTransport,
    named: (method) => byMethod.get(method),
    call: (client, params, settings) => client.callTool(params, undefined, settings),
  };
}

const { Client, SSEClientTransport, StdioClientTransport, named, call } = await (library === "sdk"
  ? loadSdk()
  : loadClient());

const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
const client = new Client({ name: "theirs", version: "1" }, { capabilities, ...options });
const report = { asked: {}, heard: [], errors: [] };
client.onerror = (error) => report.errors.push(String(error));

client.setRequestHandler(named("sampling/createMessage"), async ({ params }) => {
  report.asked.sampling = params;
  const text = [...params.messages[0].content.text].reverse().join("");
  return { role: "assistant", model: "mirror", stopReason: "endTurn", content: { type: "text", text } };
});
client.setRequestHandler(named("elicitation/create"), async ({ params }) => {
  if (params.mode === "url") {
    report.asked.visit = params;
    return { action: "accept" };
  }
  report.asked.form = params;
  return { action: "accept", content: { name: "Ada", count: 4 } };
});
client.setRequestHandler(named("roots/list"), async () => ({ roots: [{ uri: "file:///work", name: "Work" }] }));

// Who waits for a notification that may have come already.
const waiting = new Map();
const heard = (method) =>
  new Promise((resolve) => {
    if (report.heard.some((notification) => notification.method === method)) resolve();
    else waiting.set(method, resolve);
  });
const methods = ["tools", "resources", "prompts"].map((kind) => `notifications/${kind}/list_changed`);
for (const method of [...methods, "notifications/resources/updated", "notifications/message"]) {
  client.setNotificationHandler(named(method), async ({ params }) => {
    report.heard.push({ method, params });
    waiting.get(method)?.();
  });
}

async function pages(list, key) {
  const items = [];
  let cursor;
  do {
    const page = await list(cursor === undefined ? undefined : { cursor });
    items.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

const tool = (name, args = {}, settings = undefined) => call(client, { name, arguments: args }, settings);
const refusal = (asking) => asking.then(() => "no error", ({ code, message }) => ({ code, message }));

async function walk() {
  report.server = client.getServerVersion();
  report.instructions = client.getInstructions();
  await client.ping();
  report.tools = await pages((params) => client.listTools(params), "tools");
  report.resources = await pages((params) => client.listResources(params), "resources");
  report.templates = await pages((params) => client.listResourceTemplates(params), "resourceTemplates");
  report.prompts = await pages((params) => client.listPrompts(params), "prompts");
  report.introduced = await tool("introduce");
  report.added = await tool("add", { a: 1, b: 2 });
  report.born = await tool("birthday", { person: { name: "Ada" } });
  report.shown = await tool("show");
  report.refused = await tool("refuse", { reason: "not today" });
  report.wrong = await refusal(tool("add", { a: "one" }));
  report.missing = [
    await refusal(tool("nowhere")),
    await refusal(client.readResource({ uri: "mem://nowhere" })),
    await refusal(client.getPrompt({ name: "nowhere" })),
  ];
  report.progress = [];
  // Not `count`: these clients lose reports that come in one piece with the result.
  report.counted = await tool("count_in_turn", { upto: 3 }, { onprogress: (step) => report.progress.push(step) });
  await client.setLoggingLevel("warning");
  await tool("speak");
  await heard("notifications/message");
  report.thought = await tool("think", { question: "hello" });
  report.calledBack = await tool("call_back");
  report.places = await tool("places");
  report.contents = {};
  for (const uri of ["mem://greeting", "mem://bytes", "mem://many", "mem://city/Oslo"]) {
    report.contents[uri] = (await client.readResource({ uri })).contents;
  }
  report.filled = await client.getPrompt({ name: "greet", arguments: { name: "Ada" } });
  const ref = { type: "ref/resource", uri: "mem://city/{name}" };
  report.completed = await client.complete({ ref, argument: { name: "name", value: "Ber" } });
  await client.subscribeResource({ uri: "mem://greeting" });
  await tool("touch", { uri: "mem://greeting" });
  await heard("notifications/resources/updated");
  await client.unsubscribeResource({ uri: "mem://greeting" });
  await tool("grow");
  await Promise.all(methods.map(heard));
  await giveUp();
  await client.sendRootsListChanged();
  await client.ping();
}

async function giveUp() {
  const controller = new AbortController();
  const before = (await tool("recall")).structuredContent?.result.length;
  const settings = { signal: controller.signal, onprogress: () => controller.abort("enough") };
  report.givenUp = await refusal(tool("wait", {}, settings));
  let recalled;
  do {
    recalled = (await tool("recall")).structuredContent?.result.length;
  } while (recalled !== undefined && recalled === before);
}

async function askUser() {
  report.form = await tool("fill_in");
  report.visited = await tool("visit");
}

const transport = url
  ? new SSEClientTransport(new URL(url))
  : new StdioClientTransport({ command: command[0], args: command.slice(1), env });
await client.connect(transport);
await walk();
// Only revisions that have it.
if (report.introduced.content[0].text.includes("2025-11-25")) await askUser();
// Closing gives up the last post, whose answer has come over the event stream already.
client.onerror = undefined;
await client.close();
console.log(JSON.stringify(report));

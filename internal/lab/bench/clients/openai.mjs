// Calls Cairn with OpenAI's unmodified npm client. Prints one line of JSON per call: {"call", "ok", "ms",
// "detail"}. The model of the gateway is scripted, see script in openai.go.
import OpenAI from "openai";

const baseURL = process.env.CAIRN_URL + "/v1";
const client = new OpenAI({ apiKey: process.env.CAIRN_KEY, baseURL, maxRetries: 2 });

async function call(name, work) {
  const began = performance.now();
  const row = { call: name, ok: true, detail: "" };
  try {
    row.detail = (await work()) ?? "";
  } catch (error) {
    row.ok = false;
    row.detail = String(error?.message ?? error).slice(0, 300);
  }
  row.ms = Math.round(performance.now() - began);
  console.log(JSON.stringify(row));
}

function equal(got, want) {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(`${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  }
}

// fails expects an error of a class and with a code.
async function fails(kind, code, work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof kind)) throw new Error(`${error?.constructor?.name}: ${error?.message}`);
    equal(error.code, code);
    return `${error.status} ${code}`;
  }
  throw new Error("no error");
}

const user = (content) => [{ role: "user", content }];
const ask = (content, more) => client.chat.completions.create({ model: "cairn", messages: user(content), ...more });
const tools = [{
  type: "function",
  function: { name: "look_up", parameters: { type: "object", properties: { order: { type: "string" } } } },
}];

await call("models.list", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  equal(ids.includes("cairn"), true);
  return ids.join(" ");
});
await call("models.retrieve", async () => equal((await client.models.retrieve("cairn")).id, "cairn"));
await call("chat", async () => {
  const got = await ask("How is the weather in JavaScript?");
  equal(got.choices[0].message.content, "It rains in Bergen.");
  equal(got.choices[0].finish_reason, "stop");
  equal(got.usage.total_tokens > 0, true);
});
await call("chat, streamed", async () => {
  const stream = await ask("How is the weather in JavaScript now?", { stream: true, stream_options: { include_usage: true } });
  let text = "", parts = 0, usage;
  for await (const part of stream) {
    text += part.choices[0]?.delta?.content ?? "";
    parts += 1;
    usage = part.usage ?? usage;
  }
  equal(text, "It rains in Bergen.");
  equal(usage.total_tokens > 0, true);
  return `${parts} parts`;
});
await call("chat, history", async () => {
  const messages = user("My dog in JavaScript is called Bello.");
  const first = await client.chat.completions.create({ model: "cairn", messages }).withResponse();
  messages.push(first.data.choices[0].message, ...user("And my cat is called Mia."));
  const second = await client.chat.completions.create({ model: "cairn", messages }).withResponse();
  const name = "x-cairn-conversation";
  equal(second.response.headers.get(name), first.response.headers.get(name));
});
await call("tools, loop of the client", async () => {
  const messages = user("Where is order 7 in JavaScript?");
  const asked = await client.chat.completions.create({ model: "cairn", messages, tools });
  equal(asked.choices[0].finish_reason, "tool_calls");
  const made = asked.choices[0].message.tool_calls;
  equal(made.map((one) => one.function.name), ["look_up"]);
  messages.push(asked.choices[0].message, { role: "tool", tool_call_id: made[0].id, content: "in Bergen" });
  const answered = await client.chat.completions.create({ model: "cairn", messages, tools });
  equal(answered.choices[0].message.content, "Order 7 is in Bergen.");
});
await call("tools, runTools", async () => {
  const runner = client.chat.completions.runTools({
    model: "cairn", messages: user("Where is order 7 for the JavaScript runner?"), stream: true,
    tools: [{ type: "function", function: { ...tools[0].function, parse: JSON.parse, function: async ({ order }) => `order ${order}: in Bergen` } }],
  });
  equal(await runner.finalContent(), "Order 7 is in Bergen.");
});
await call("JSON Schema", async () => {
  const got = await client.chat.completions.parse({
    model: "cairn", messages: user("Which city in JavaScript?"),
    response_format: { type: "json_schema", json_schema: { name: "city", strict: true, schema: {
      type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false } } },
  });
  equal(JSON.parse(got.choices[0].message.content), { city: "Bergen" });
});
await call("a retry is one model call", async () => {
  let sent = 0;
  const lossy = new OpenAI({ apiKey: process.env.CAIRN_KEY, baseURL, fetch: async (...args) => {
    const response = await fetch(...args);
    sent += 1;
    if (sent > 1) return response;
    await response.text();
    return new Response("{}", { status: 502, headers: { "retry-after-ms": "10" } });
  } });
  const got = await lossy.chat.completions.create({ model: "cairn", messages: user("How is the weather for a JavaScript retry?") });
  equal(got.choices[0].message.content, "It rains in Bergen.");
  equal(sent, 2);
  const times = await fetch(process.env.MODEL_URL + "?match=JavaScript+retry").then((r) => r.json());
  equal(times, 1);
});
await call("cairn-task", async () => {
  const got = await client.chat.completions.create({ model: "cairn-task", messages: user("Write a title for a JavaScript chat.") }).withResponse();
  equal(got.data.choices[0].message.content, "A title");
  equal(got.response.headers.get("x-cairn-conversation"), null);
});
await call("responses", async () => {
  const first = await client.responses.create({ model: "cairn", input: "How is the weather in a JavaScript response?" });
  equal(first.output_text, "It rains in Bergen.");
  const second = await client.responses.create({ model: "cairn", input: "And now?", previous_response_id: first.id });
  equal(second.conversation.id, first.conversation.id);
  equal((await client.responses.retrieve(first.id)).output_text, first.output_text);
  await client.responses.delete(first.id);
  return fails(OpenAI.NotFoundError, "response_not_found", () => client.responses.retrieve(first.id));
});
await call("responses, tools", async () => {
  const own = [{ type: "function", name: "look_up", strict: false, parameters: tools[0].function.parameters }];
  const asked = await client.responses.create({ model: "cairn", input: "Where is order 7 in a JavaScript response?", tools: own });
  const made = asked.output.filter((item) => item.type === "function_call");
  equal(made.map((one) => one.name), ["look_up"]);
  const answered = await client.responses.create({ model: "cairn", previous_response_id: asked.id, tools: own, input: [
    { type: "function_call_output", call_id: made[0].call_id, output: "in Bergen" }] });
  equal(answered.output_text, "Order 7 is in Bergen.");
});
await call("responses, stream helper", async () => {
  const stream = client.responses.stream({ model: "cairn", input: "How is the weather in a JavaScript response stream?" });
  let text = "";
  for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
  equal(text, "It rains in Bergen.");
  equal((await stream.finalResponse()).output_text, text);
});
await call("responses, starting_after", async () => {
  let text = "", last = 0, id = "";
  const stream = await client.responses.create({
    model: "cairn", input: "How is the weather in a resumed JavaScript response?", stream: true, background: true });
  for await (const event of stream) {
    last = event.sequence_number;
    if (event.type === "response.created") id = event.response.id;
    if (event.type === "response.output_text.delta") {
      text += event.delta;
      break;
    }
  }
  for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: last })) {
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  equal(text, "It rains in Bergen.");
  return `starting_after=${last}`;
});
await call("responses, canceled", async () => {
  const made = await client.responses.create({ model: "cairn", input: "Tell a slow JavaScript story", background: true });
  equal(made.status, "in_progress");
  equal((await client.responses.cancel(made.id)).status, "cancelled");
});
await call("AuthenticationError", () => fails(OpenAI.AuthenticationError, "invalid_api_key", () =>
  new OpenAI({ apiKey: "cairn_wrong", baseURL }).models.list()));
await call("NotFoundError", () => fails(OpenAI.NotFoundError, "model_not_found", () => ask("Hello", { model: "gpt-4o" })));
await call("BadRequestError", () => fails(OpenAI.BadRequestError, "unsupported_parameter", () => ask("Hello", { n: 2 })));
await call("context length", () => fails(OpenAI.BadRequestError, "context_length_exceeded", () => ask("A long JavaScript story")));
await call("RateLimitError", () => fails(OpenAI.RateLimitError, "insufficient_quota", () =>
  new OpenAI({ apiKey: process.env.CAIRN_POOR_KEY, baseURL }).chat.completions.create({ model: "cairn", messages: user("Hello") })));

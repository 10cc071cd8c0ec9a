// Makes all calls of mem0's unmodified npm client against Cairn. Prints one line of JSON per
// call: {"call", "ok", "ms", "detail"}, and
// "state" if Cairn does not offer the call.
import { MemoryClient } from "mem0ai";

const host = process.env.CAIRN_URL + "/mem0";
const called = new Set();
const client = new Proxy(new MemoryClient({ apiKey: process.env.CAIRN_KEY, host }), {
  get(real, name) {
    called.add(name);
    const value = Reflect.get(real, name);
    return typeof value === "function" ? value.bind(real) : value;
  },
});
const user = { userId: "ada" };
const filters = { user_id: "ada" };

async function call(name, work) {
  const began = performance.now();
  const row = { call: name, ok: true, detail: "" };
  try {
    row.detail = (await work()) ?? "";
    if (row.detail === "501") [row.state, row.detail] = ["501", ""];
  } catch (error) {
    row.ok = false;
    row.detail = String(error?.message ?? error).slice(0, 300);
  }
  row.ms = Math.round(performance.now() - began);
  console.log(JSON.stringify(row));
}

function must(truth, what) {
  if (!truth) throw new Error(what);
}

// eventually retries work until it succeeds, because inference takes a while.
async function eventually(work) {
  const until = performance.now() + 60_000;
  for (;;) {
    const out = await work();
    if (out) return out;
    if (performance.now() > until) throw new Error("not within a minute");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function fails(kind, work) {
  try {
    await work();
  } catch (error) {
    must(error.constructor.name === kind || error.name === kind, `${error.name}: ${error.message}`);
    must(JSON.parse(error.message).detail, "the error has no detail");
    return;
  }
  throw new Error("it did not fail");
}

await call("ping", () => client.ping());

const conversation = [
  { role: "user", content: "My name is Ada and I always fly from Osaka. I prefer window seats." },
  { role: "assistant", content: "Noted: you fly from Osaka and prefer window seats." },
];
await call("add, inferred, with an event", async () => {
  const made = await client.add(conversation, { ...user, runId: "trip-1", metadata: { tripKind: "work" } });
  must(made.eventId && made.status, "no event: " + JSON.stringify(made));
  const event = await eventually(async () => {
    const res = await fetch(`${host}/v1/event/${made.eventId}/`, { headers: client.headers });
    const event = await res.json();
    return ["SUCCEEDED", "FAILED"].includes(event.status) && event;
  });
  must(event.status === "SUCCEEDED", JSON.stringify(event));
  const all = await client.getAll({ filters: { AND: [{ user_id: "ada" }, { run_id: "trip-1" }] } });
  must(all.count === event.results.filter((r) => r.event === "ADD").length, "the event and the list differ: " + JSON.stringify([event, all]));
  must(all.results.every((m) => m.metadata.tripKind === "work" && m.userId === "ada" && m.runId === "trip-1"), JSON.stringify(all));
  must(all.results.some((m) => m.memory.includes("Osaka")), "nothing was inferred of what was plainly said: " + JSON.stringify(event));
  return `${all.count} memories were inferred`;
});
await call("add, inferred, waiting (async_mode false)", async () => {
  const made = await client.add([{ role: "user", content: "I like green tea in the morning and I never drink coffee." }], { ...user, async_mode: false });
  must(made.results.some((r) => r.event === "ADD" && r.memory.includes("green tea")), JSON.stringify(made));
  return `${made.results.length} memories were inferred`;
});

let miso, tea;
await call("add as it stands (infer false)", async () => {
  const made = await client.add([{ role: "user", content: "The cat is called Miso." }], { ...user, infer: false, metadata: { petKind: "cat" } });
  miso = made.results[0].id;
  must(made.results[0].memory === "The cat is called Miso." && made.results[0].event === "ADD", JSON.stringify(made));
  tea = (await client.add([{ role: "user", content: "The dog is called Bruno." }], { ...user, infer: false, expirationDate: "2999-01-01" })).results[0].id;
});
await call("search", async () => {
  const found = await client.search("What is the cat called?", { filters, topK: 3 });
  must(found.results[0]?.id === miso && found.results[0].score > 0 && found.results.length <= 3, JSON.stringify(found));
});
await call("search with a filter over metadata", async () => {
  const found = await client.search("cat", { filters: { AND: [{ user_id: "ada" }, { metadata: { petKind: "cat" } }] } });
  must(found.results.length === 1 && found.results[0].id === miso, JSON.stringify(found));
});
await call("getAll by pages", async () => {
  const first = await client.getAll({ filters, page: 1, pageSize: 1 });
  const second = await client.getAll({ filters, page: 2, pageSize: 1 });
  must(first.count > 1 && first.next && first.results.length === 1 && second.previous && second.results[0].id !== first.results[0].id, JSON.stringify([first, second]));
});
await call("get", async () => {
  const one = await client.get(miso);
  must(one.memory === "The cat is called Miso." && one.metadata.petKind === "cat" && one.userId === "ada" && !Number.isNaN(Date.parse(one.createdAt)), JSON.stringify(one));
});
await call("update", async () => {
  await client.update(miso, { text: "The cat is called Nori.", metadata: { petKind: "old cat" } });
  const one = await client.get(miso);
  must(one.memory === "The cat is called Nori." && one.metadata.petKind === "old cat", JSON.stringify(one));
  await client.update(tea, { expirationDate: null });
  must(!(await client.get(tea)).expirationDate, "the date is still there");
});
await call("history", async () => {
  const all = await client.history(miso);
  must(all.map((h) => h.event).join() === "ADD,UPDATE" && all[1].oldMemory === "The cat is called Miso." && all[1].newMemory === "The cat is called Nori.", JSON.stringify(all));
});
await call("batchUpdate", async () => {
  await client.batchUpdate([{ memoryId: miso, text: "The cat is called Mochi." }, { memoryId: tea, text: "The dog is called Hugo." }]);
  must((await client.get(tea)).memory === "The dog is called Hugo.", "not updated");
});
await call("feedback", async () => {
  await client.feedback({ memoryId: miso, feedback: "POSITIVE", feedbackReason: "right" });
  must((await client.get(miso)).feedback === "POSITIVE", "not kept");
});
await call("users", async () => {
  const all = await client.users();
  must(all.count >= 1 && all.results.some((u) => u.name === "ada" && u.type === "user" && u.totalMemories > 1), JSON.stringify(all));
});
await call("delete", async () => {
  must((await client.delete(tea)).message, "no message");
  await fails("MemoryNotFoundError", () => client.get(tea));
  must((await client.history(tea)).at(-1).event === "DELETE", "not in the history");
});
await call("batchDelete", async () => {
  await client.batchDelete([miso]);
  await fails("MemoryNotFoundError", () => client.get(miso));
});
await call("deleteUsers", async () => {
  await client.add([{ role: "user", content: "Bob sails." }], { userId: "bob", infer: false });
  await client.deleteUsers({ userId: "bob" });
  must((await client.getAll({ filters: { user_id: "bob" } })).count === 0, "bob is still there");
  await client.add([{ role: "user", content: "Bob sails." }], { userId: "bob", infer: false });
  await client.deleteUser({ entity_id: "bob" }); // its former name
  must((await client.getAll({ filters: { user_id: "bob" } })).count === 0, "bob is there again");
});
await call("deleteAll", async () => {
  await client.deleteAll(user);
  must((await client.getAll({ filters })).count === 0, "something is left");
});
await call("errors: no entity, no memory, no key", async () => {
  await fails("ValidationError", () => client.add([{ role: "user", content: "x" }], {}));
  await fails("MemoryNotFoundError", () => client.update("0000000000000000", { text: "x" }));
  const anonymous = new MemoryClient({ apiKey: "m0-invalid", host });
  await fails("AuthenticationError", () => anonymous.get(miso));
});
await call("getProject, updateProject", async () => {
  const customCategories = [{ pets: "cats and dogs at home" }];
  await client.updateProject({ customInstructions: "Only animals.", customCategories });
  const project = await client.getProject({ fields: ["custom_instructions", "custom_categories"] });
  must(project.customInstructions === "Only animals." && project.customCategories[0].pets === "cats and dogs at home", JSON.stringify(project));
  const made = await client.add([{ role: "user", content: "Feeds two dogs." }], { userId: "zoe", infer: false });
  must((await client.get(made.results[0].id)).categories.join() === "pets", "no category");
  await client.updateProject({ customInstructions: "", customCategories: [] });
});
await call("options without effect are named", async () => {
  const found = await client.search("dogs", { filters: { user_id: "zoe" }, rerank: true, referenceDate: "2026-01-01" });
  must(found.ignored.join() === "reference_date,rerank", JSON.stringify(found));
  await fails("ValidationError", () => client.add([{ role: "user", content: "x" }], { userId: "zoe", structuredDataSchema: { type: "object" } }));
});

// notOffered expects status 501 with a hint.
const notOffered = (name, work) => call(name, async () => {
  try {
    await work();
  } catch (error) {
    const told = JSON.parse(error.message);
    must(told.code === "not_implemented" && told.hint, error.message);
    return "501";
  }
  throw new Error("it did not fail");
});
await notOffered("getWebhooks", () => client.getWebhooks());
await notOffered("createWebhook", () => client.createWebhook({ url: "https://x.invalid", name: "x", projectId: "p", eventTypes: [] }));
await notOffered("updateWebhook", () => client.updateWebhook({ webhookId: "1", name: "x" }));
await notOffered("deleteWebhook", () => client.deleteWebhook({ webhookId: "1" }));
await notOffered("createMemoryExport", () => client.createMemoryExport({ schema: {}, filters }));
await notOffered("getMemoryExport", () => client.getMemoryExport({ filters }));
await notOffered("getProfile", () => client.getProfile({ entityId: "ada" }));
await notOffered("generateProfile", () => client.generateProfile({ entityId: "ada" }));
await notOffered("getProfileSettings", () => client.getProfileSettings());
await notOffered("updateProfileSettings", () => client.updateProfileSettings({ enabled: true }));
await notOffered("sampleProfiles", () => client.sampleProfiles({ limit: 1 }));
await notOffered("getProfileJob", () => client.getProfileJob("1"));
await call("all methods were called", () => {
  const want = Object.getOwnPropertyNames(MemoryClient.prototype).filter((name) => name !== "constructor" && !name.startsWith("_"));
  const left = want.filter((name) => !called.has(name));
  must(left.length === 0, left.join());
  return `${called.size} methods`;
});

"""Makes all calls of mem0's unmodified Python client, of any version, with Cairn.

    check.py sync|async

CAIRN_URL and CAIRN_KEY name a gateway and a key with all scopes of an empty workspace. Each call prints one line of
JSON: {"call", "state", "ms", "detail"}. The state is "ok", "501" for a call that Cairn does not offer and refuses with
a hint, or "failed". The calls of clients that this program does not know are failures, too.
"""

import asyncio
import inspect
import json
import logging
import os
import sys
import time
import urllib.request
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.ERROR)

import mem0  # noqa: E402
from mem0.client import project as project_module  # noqa: E402

HOST = os.environ["CAIRN_URL"] + "/mem0"
KEY = os.environ["CAIRN_KEY"]
ASYNC = sys.argv[1:] == ["async"]
VERSION = tuple(int(part) for part in mem0.__version__.split(".")[:2])
V2 = VERSION >= (2, 0)  # entities belong to filters, and lists are pages
V1 = VERSION >= (1, 0) and not V2
LOOP = asyncio.new_event_loop()
called = set()
failures = 0


def done(value):
    return LOOP.run_until_complete(value) if inspect.isawaitable(value) else value


class Recorded:
    """Calls a client and notes which of its methods were called."""

    def __init__(self, real, prefix=""):
        self.real, self.prefix = real, prefix

    def __getattr__(self, name):
        value = getattr(self.real, name)
        if name == "project":
            return Recorded(value, "project.")
        if not callable(value):
            return value

        def method(*args, **kwargs):
            called.add(self.prefix + name)
            return done(value(*args, **kwargs))
        return method


def make(key=KEY):
    return Recorded((mem0.AsyncMemoryClient if ASYNC else mem0.MemoryClient)(api_key=key, host=HOST))


def row(name, work):
    global failures
    began, out = time.monotonic(), {"call": name, "state": "ok", "detail": ""}
    try:
        out["detail"] = work() or ""
        if out["detail"] == "501":
            out["state"] = "501"
            out["detail"] = ""
    except Exception as error:  # each failure is a row
        failures += 1
        out["state"], out["detail"] = "failed", f"{type(error).__name__}: {error}"[:400]
    out["ms"] = round((time.monotonic() - began) * 1000)
    print(json.dumps(out), flush=True)


def must(truth, *what):
    if not truth:
        raise AssertionError(" ".join(map(str, what))[:400])


def equal(got, want):
    must(got == want, repr(got), "want", repr(want))


def fails(kind, work):
    try:
        out = work()
    except Exception as error:
        status = statuses.get(kind)
        if not V2 and ASYNC and status and hasattr(error, "response"):
            equal(error.response.status_code, status)
            return error.response.text
        equal(type(error).__name__, kind)
        return error
    raise AssertionError(f"no error: {out!r}")


# The asynchronous clients before 2.0 raise errors of their HTTP library.
statuses = {"ValidationError": 400, "MemoryNotFoundError": 404}


def not_offered(work):
    """Expects status 501 with a hint."""
    try:
        out = work()
    except Exception as error:
        details = error.response.json() if hasattr(error, "response") else getattr(error, "details", None) or {}
        equal(details.get("code"), "not_implemented")
        must(details.get("hint"), "no hint")
        return "501"
    raise AssertionError(f"no error: {out!r}")


def event(ident):
    """Waits for the end of an add. The client has no call for it."""
    for _ in range(600):
        request = urllib.request.Request(f"{HOST}/v1/event/{ident}/", headers={"Authorization": "Token " + KEY})
        with urllib.request.urlopen(request, timeout=20) as response:
            out = json.load(response)
        if out["status"] in ("SUCCEEDED", "FAILED"):
            return out
        time.sleep(0.1)
    raise AssertionError("not within a minute")


def of(**entities):
    """The owner of a memory, as this version names it."""
    return {"filters": entities} if V2 else entities


def entries(answer):
    """The memories of a list or a search."""
    return answer if isinstance(answer, list) else answer["results"]


def user(text):
    return [{"role": "user", "content": text}]


client = None
ids = {}


def connect():
    global client
    client = make()
    must(client.real.org_id and client.real.project_id and client.real.user_email, "no project")
    return client.real.project_id


def raw(text, **more):
    owner = of(**more.pop("owner", {"user_id": "ada"}))
    out = client.add(user(text), infer=False, **owner, **more)
    equal([one["event"] for one in out["results"]], ["ADD"])
    return out["results"][0]["id"]


def add_raw():
    ids["cat"] = raw("The cat is called Miso.", metadata={"pet_kind": "cat", "age": 3})
    ids["dog"] = raw("The dog is called Bruno.", expiration_date="2999-01-01", owner={"user_id": "ada", "run_id": "r1"})
    ids["cook"] = raw("Peel them first.", owner={"agent_id": "cook"})


def add_string_and_object():
    owner = of(user_id="texts")
    client.add("Plays chess.", infer=False, **owner)
    client.add({"role": "user", "content": "Sails at the weekend."}, infer=False, **owner)
    equal(len(entries(get_all(user_id="texts"))), 2)


def get_all(**entities):
    return client.get_all(filters=entities) if V2 or V1 else client.get_all(**entities)


def add_inferred():
    out = client.add(user("My name is Eve and I always fly from Osaka. I prefer window seats."),
                     **of(user_id="eve"), **({"async_mode": True} if not V2 else {}))
    ident = out.get("event_id") or out["results"][0]["event_id"]
    equal(event(ident)["status"], "SUCCEEDED")
    found = entries(get_all(user_id="eve"))
    must(any("Osaka" in one["memory"] for one in found), found)
    return f"{len(found)} memories were inferred"


def add_waiting():
    out = client.add(user("I like green tea in the morning and I never drink coffee."), async_mode=False,
                     custom_categories=[{"drinks": "tea, coffee and juice"}, {"sports": "games"}], **of(user_id="tea"))
    must(any("green tea" in one["memory"] for one in out["results"]), out)
    found = entries(get_all(user_id="tea"))
    must(any("drinks" in one["categories"] for one in found), found)
    return f"{len(found)} memories were inferred, with categories"


def get():
    one = client.get(ids["cat"])
    equal((one["memory"], one["metadata"], one["user_id"]),
          ("The cat is called Miso.", {"pet_kind": "cat", "age": 3}, "ada"))


def get_all_pages():
    if V2 or V1:
        pages = [client.get_all(filters={"user_id": "ada"}, page=n, page_size=1) for n in (1, 2)]
        equal([(page["count"], len(page["results"])) for page in pages], [(2, 1), (2, 1)])
        equal({one["id"] for page in pages for one in page["results"]}, {ids["cat"], ids["dog"]})
        return
    both = client.get_all(user_id="ada")
    must(isinstance(both, list) and len(both) == 2, both)
    equal(len(client.get_all(user_id="ada", page=2, page_size=1)), 1)
    page = client.get_all(version="v2", filters={"user_id": "ada"}, page=1, page_size=1)
    equal((page["count"], len(page["results"])), (2, 1))


def get_all_filtered():
    filters = {"AND": [{"user_id": "ada"}, {"NOT": [{"run_id": "r1"}]}, {"metadata": {"pet_kind": "cat"}},
                       {"created_at": {"gte": "2020-01-01"}}]}
    out = client.get_all(filters=filters) if V2 or V1 else client.get_all(version="v2", filters=filters)
    equal([one["id"] for one in entries(out)], [ids["cat"]])


def search():
    more = {} if V2 or V1 else {"version": "v2"}
    found = entries(client.search("What is the cat called?", filters={"user_id": "ada"}, top_k=1, **more))
    equal([one["id"] for one in found], [ids["cat"]])
    must(found[0]["score"] > 0, found)
    both = {"OR": [{"user_id": "ada"}, {"agent_id": "*"}]}
    found = entries(client.search("Which one is called Bruno?", filters=both, top_k=10, **more))
    equal(found[0]["id"], ids["dog"])


def search_v1():
    found = client.search("What is the cat called?", user_id="ada", top_k=1)
    must(isinstance(found, list), found)
    equal([one["id"] for one in found], [ids["cat"]])


def bad_filter():
    error = fails("ValidationError", lambda: client.get_all(filters={"user_id": "ada", "pet_kind": "cat"})
                  if V2 or V1 else client.get_all(version="v2", filters={"user_id": "ada", "pet_kind": "cat"}))
    must("keywords_search" in str(error), error)


def update():
    client.update(ids["cat"], text="The cat is called Nori.", metadata={"pet_kind": "old cat"})
    one = client.get(ids["cat"])
    equal((one["memory"], one["metadata"]["pet_kind"]), ("The cat is called Nori.", "old cat"))


def update_more():
    client.update(ids["dog"], expiration_date=None)
    must(not client.get(ids["dog"]).get("expiration_date"), "the date is still there")
    client.update(ids["dog"], timestamp=1700000000)
    out = client.get_all(filters={"AND": [{"user_id": "ada"}, {"timestamp": {"lte": "2023-11-14"}}]})
    equal([one["id"] for one in out["results"]], [ids["dog"]])


def history():
    all_ = client.history(ids["cat"])
    equal([one["event"] for one in all_], ["ADD", "UPDATE"])
    equal((all_[1]["old_memory"], all_[1]["new_memory"]), ("The cat is called Miso.", "The cat is called Nori."))


def batch_update():
    client.batch_update([{"memory_id": ids["cat"], "text": "The cat is called Mochi."},
                         {"memory_id": ids["dog"], "metadata": {"pet_kind": "dog"}}])
    equal(client.get(ids["cat"])["memory"], "The cat is called Mochi.")
    equal(client.get(ids["dog"])["metadata"], {"pet_kind": "dog"})


def feedback():
    try:
        client.feedback(ids["cat"], feedback="POSITIVE", feedback_reason="right")
        detail = ""
    except TypeError:  # these versions call their telemetry with too many arguments, after the answer
        must(not V2, "TypeError")
        detail = "stored; the client then raises a TypeError of its own telemetry"
    one = client.get(ids["cat"])
    equal((one["feedback"], one["feedback_reason"]), ("POSITIVE", "right"))
    return detail


def users():
    out = client.users()
    found = {(one["type"], one["name"]) for one in out["results"]}
    must({("user", "ada"), ("agent", "cook"), ("run", "r1")} <= found, out)


def project():
    categories = [{"pets": "cats and dogs at home"}, {"food": "meals and drinks"}]
    for change in (client.project.update, client.update_project):
        change(custom_instructions="Remember everything about animals.", custom_categories=categories)
    for read in (client.project.get, client.get_project):
        out = read(fields=["custom_instructions", "custom_categories"])
        equal(out, {"custom_instructions": "Remember everything about animals.", "custom_categories": categories})
    one = client.get(raw("Feeds two dogs.", owner={"user_id": "zoe"}))
    equal(one["categories"], ["pets"])
    return "categories were assigned"


def project_restore():
    client.project.update(custom_instructions="", custom_categories=[])
    equal(client.project.get(fields=["custom_categories"]), {"custom_categories": []})


def delete():
    must(client.delete(ids["dog"])["message"], "no message")
    fails("MemoryNotFoundError", lambda: client.get(ids["dog"]))
    equal(client.history(ids["dog"])[-1]["event"], "DELETE")


def delete_linked():
    one = raw("A memory to delete.", owner={"user_id": "gone"})
    equal(client.delete(one, delete_linked=True).get("ignored"), ["delete_linked"])


def batch_delete():
    client.batch_delete([{"memory_id": ids["cat"]}])
    fails("MemoryNotFoundError", lambda: client.get(ids["cat"]))


def delete_all():
    raw("Bob sails.", owner={"user_id": "bob"})
    raw("Bob and Eve sail.", owner={"user_id": "bob", "run_id": "trip"})
    if V2:  # httpx writes the filters as a literal of Python
        client.delete_all(filters={"AND": [{"user_id": "bob"}, {"run_id": "trip"}]})
    else:
        client.delete_all(user_id="bob", run_id="trip")
    equal([one["memory"] for one in entries(get_all(user_id="bob"))], ["Bob sails."])
    client.delete_all(**of(user_id="bob"))
    equal(entries(get_all(user_id="bob")), [])
    fails("ValidationError", lambda: client.delete_all())


def delete_users():
    client.delete_users(agent_id="cook")
    equal(entries(get_all(agent_id="cook")), [])


def reset():
    raw("Something.", owner={"user_id": "last"})
    client.reset()
    equal(client.users()["count"], 0)


def errors():
    fails("ValidationError", lambda: client.add(user("x")))
    fails("MemoryNotFoundError", lambda: client.update("0000000000000000", text="x"))
    fails("ValueError", lambda: make("m0-invalid"))
    raw("One for an error.", owner={"user_id": "ada"})
    fails("ValidationError", lambda: client.add(user("x"), infer=False, immutable=True, **of(user_id="ada")))


# The options of the client 2.2.1. Those that are ignored are named in the answer.
OPTIONS = {
    "AddMemoryOptions": {"filters", "metadata", "infer", "custom_categories", "custom_instructions",
                         "agent_custom_instructions", "timestamp", "expiration_date", "structured_data_schema"},
    "SearchMemoryOptions": {"filters", "metadata", "top_k", "rerank", "threshold", "fields", "categories",
                            "show_expired", "reference_date", "latest_only", "keyword_search"},
    "GetAllMemoryOptions": {"filters", "page", "page_size", "start_date", "end_date", "categories", "show_expired",
                            "latest_only"},
    "DeleteAllMemoryOptions": {"filters"},
    "UpdateMemoryOptions": {"text", "metadata", "timestamp", "expiration_date"},
    "ProjectUpdateOptions": {"custom_instructions", "agent_custom_instructions", "custom_categories", "memory_depth",
                             "usecase_setting", "multilingual"},
}


def options():
    from mem0.client import types
    for name, known in OPTIONS.items():
        equal(set(getattr(types, name).model_fields), known)
    filters = {"user_id": "ada"}
    fails("ValidationError", lambda: client.add(user("x"), types.AddMemoryOptions(
        filters=filters, structured_data_schema={"type": "object"})))
    added = client.add(user("Has a cat since 2023."), types.AddMemoryOptions(
        filters=filters, metadata={"n": 1}, infer=False, custom_categories=[{"pets": "cats and dogs"}],
        custom_instructions="x", agent_custom_instructions="y", timestamp=1700000000, expiration_date="2020-01-01"))
    ident = added["results"][0]["id"]
    must("ignored" not in added, added)
    found = client.search("cat", types.SearchMemoryOptions(
        filters=filters, metadata={"n": 1}, top_k=5, rerank=True, threshold=0.0, fields=["id", "categories"],
        categories=["pets"], show_expired=True, reference_date="2026-01-01", latest_only=True, keyword_search=True))
    equal(found["results"], [{"id": ident, "categories": ["pets"]}])
    equal(found["ignored"], ["reference_date", "rerank"])
    page = client.get_all(types.GetAllMemoryOptions(
        filters=filters, page=1, page_size=10, start_date="2020-01-01", end_date="2999-01-01", categories=["pets"],
        show_expired=True, latest_only=False))
    equal(([one["id"] for one in page["results"]], page["ignored"]), ([ident], ["latest_only"]))
    changed = client.update(ident, types.UpdateMemoryOptions(text="Has a dog.", metadata={"n": 2}, timestamp=1,
                                                             expiration_date="2999-01-01"))
    must("ignored" not in changed, changed)
    changed = client.update_project(types.ProjectUpdateOptions(
        custom_instructions="x", agent_custom_instructions="y", custom_categories=[], memory_depth="deep",
        usecase_setting="z", multilingual=False))
    equal(changed["ignored"], ["memory_depth", "multilingual", "usecase_setting"])
    client.delete_all(types.DeleteAllMemoryOptions(filters=filters))


def chat():
    fails("NotImplementedError", lambda: client.chat())
    return "the client itself does not implement it"


def everything_called():
    kind, projects = (("AsyncMemoryClient", "AsyncProject") if ASYNC else ("MemoryClient", "Project"))
    want = {name for name, _ in inspect.getmembers(getattr(mem0, kind), inspect.isfunction)}
    want |= {"project." + name for name, _ in inspect.getmembers(getattr(project_module, projects), inspect.isfunction)}
    left = sorted(name for name in want if not name.split(".")[-1].startswith("_") and name not in called)
    equal(left, [])
    return f"{len(called)} methods"


row("ping", connect)
if client is None:
    sys.exit(1)
row("add, infer=False", add_raw)
if V2 or V1:
    row("add, text and object", add_string_and_object)
row("add, inferred with an event", add_inferred)
row("add, inferred, async_mode=False", add_waiting)
row("get", get)
row("get_all, pages", get_all_pages)
row("get_all, nested filters", get_all_filtered)
row("get_all, unknown filter", bad_filter)
row("search", search)
if not (V2 or V1):
    row("search, version 1", search_v1)
row("update", update)
if V2:
    row("update, expiration_date and timestamp", update_more)
row("history", history)
row("batch_update", batch_update)
row("feedback", feedback)
row("users", users)
row("project.get, project.update, get_project, update_project", project)
row("project.update, reset", project_restore)
row("delete", delete)
if V2:
    row("delete, delete_linked", delete_linked)
row("batch_delete", batch_delete)
row("delete_all", delete_all)
row("delete_users", delete_users)
row("errors: no entity, no memory, no key, unsupported option", errors)
if V2:
    row("options: used, refused or named as ignored", options)
row("reset", reset)
row("chat", chat)
for name, work in {
    "create_memory_export": lambda: client.create_memory_export(schema="{}", filters={"user_id": "ada"}),
    "get_memory_export": lambda: client.get_memory_export(filters={"user_id": "ada"}),
    "get_summary": lambda: client.get_summary(filters={"user_id": "ada"}),
    "get_webhooks": lambda: client.get_webhooks(project_id="p"),
    "create_webhook": lambda: client.create_webhook(url="https://x.invalid", name="x", project_id="p",
                                                    event_types=["memory_add"]),
    "update_webhook": lambda: client.update_webhook(webhook_id=1, name="x"),
    "delete_webhook": lambda: client.delete_webhook(webhook_id=1),
    "project.create": lambda: client.project.create(name="x"),
    "project.delete": lambda: client.project.delete(),
    "project.get_members": lambda: client.project.get_members(),
    "project.add_member": lambda: client.project.add_member(email="a@x.invalid"),
    "project.update_member": lambda: client.project.update_member(email="a@x.invalid", role="OWNER"),
    "project.remove_member": lambda: client.project.remove_member(email="a@x.invalid"),
    **({
        "get_profile": lambda: client.get_profile("ada"),
        "generate_profile": lambda: client.generate_profile("ada"),
        "get_profile_settings": lambda: client.get_profile_settings(),
        "update_profile_settings": lambda: client.update_profile_settings(enabled=True),
        "sample_profiles": lambda: client.sample_profiles(limit=1),
        "get_profile_job": lambda: client.get_profile_job("1"),
    } if V2 else {}),
}.items():
    row(name, lambda work=work: not_offered(work))
row("all methods were called", everything_called)
sys.exit(1 if failures else 0)

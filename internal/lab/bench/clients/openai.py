# Calls Cairn with OpenAI's unmodified Python client. Prints one line of JSON per call: {"call", "ok", "ms",
# "detail"}. The model of the gateway is scripted, see script in openai.go.
import asyncio
import json
import os
import time
import urllib.parse
import urllib.request

import httpx2
import openai
import pydantic

BASE = os.environ["CAIRN_URL"] + "/v1"
KEY = os.environ["CAIRN_KEY"]
client = openai.OpenAI(api_key=KEY, base_url=BASE)


def call(name, work):
    began, row = time.monotonic(), {"call": name, "ok": True, "detail": ""}
    try:
        row["detail"] = work() or ""
    except Exception as error:  # each failure is a row
        row["ok"], row["detail"] = False, f"{type(error).__name__}: {error}"[:300]
    row["ms"] = round((time.monotonic() - began) * 1000)
    print(json.dumps(row), flush=True)


def equal(got, want):
    if got != want:
        raise AssertionError(f"{got!r}, want {want!r}")


def fails(kind, code, work):
    try:
        work()
    except kind as error:
        equal(error.code, code)
        return f"{error.status_code} {code}"
    raise AssertionError("no error")


def user(content):
    return [{"role": "user", "content": content}]


def ask(content, **more):
    return client.chat.completions.create(**{"model": "cairn", "messages": user(content), **more})


TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {
    "type": "object", "properties": {"order": {"type": "string"}}}}}]


def models():
    ids = [model.id for model in client.models.list()]
    equal("cairn" in ids, True)
    equal(client.models.retrieve("cairn").id, "cairn")
    return " ".join(ids)


def chat():
    got = ask("How is the weather in Python?")
    equal(got.choices[0].message.content, "It rains in Bergen.")
    equal(got.choices[0].finish_reason, "stop")
    equal(got.usage.total_tokens > 0, True)


def streamed():
    text, parts, usage = "", 0, None
    for part in ask("How is the weather in Python now?", stream=True, stream_options={"include_usage": True}):
        text += part.choices[0].delta.content or "" if part.choices else ""
        parts, usage = parts + 1, part.usage or usage
    equal(text, "It rains in Bergen.")
    equal(usage.total_tokens > 0, True)
    return f"{parts} parts"


def history():
    messages = user("My dog in Python is called Bello.")
    first = client.chat.completions.with_raw_response.create(model="cairn", messages=messages)
    messages += [first.parse().choices[0].message, *user("And my cat is called Mia.")]
    second = client.chat.completions.with_raw_response.create(model="cairn", messages=messages)
    equal(second.headers["x-cairn-conversation"], first.headers["x-cairn-conversation"])


def tools():
    messages = user("Where is order 7 in Python?")
    asked = client.chat.completions.create(model="cairn", messages=messages, tools=TOOLS)
    equal(asked.choices[0].finish_reason, "tool_calls")
    made = asked.choices[0].message.tool_calls
    equal([one.function.name for one in made], ["look_up"])
    messages += [asked.choices[0].message, {"role": "tool", "tool_call_id": made[0].id, "content": "in Bergen"}]
    answered = client.chat.completions.create(model="cairn", messages=messages, tools=TOOLS)
    equal(answered.choices[0].message.content, "Order 7 is in Bergen.")


class City(pydantic.BaseModel):
    city: str


def schema():
    got = client.chat.completions.parse(model="cairn", messages=user("Which city in Python?"), response_format=City)
    equal(got.choices[0].message.parsed, City(city="Bergen"))


def stream_helper():
    with client.chat.completions.stream(model="cairn", messages=user("How is the weather in a Python stream?")) as stream:
        for _ in stream:
            pass
        equal(stream.get_final_completion().choices[0].message.content, "It rains in Bergen.")


def asynchronous():
    async def main():
        async with openai.AsyncOpenAI(api_key=KEY, base_url=BASE) as one:
            got = await one.chat.completions.create(model="cairn", messages=user("How is the weather in async Python?"))
            equal(got.choices[0].message.content, "It rains in Bergen.")
    asyncio.run(main())


class Lossy(httpx2.HTTPTransport):
    """Loses the first response."""
    sent = 0

    def handle_request(self, request):
        response = super().handle_request(request)
        self.sent += 1
        if self.sent > 1:
            return response
        response.read()
        return httpx2.Response(502, headers={"retry-after-ms": "10"}, json={})


def retry():
    transport = Lossy()
    lossy = openai.OpenAI(api_key=KEY, base_url=BASE, http_client=httpx2.Client(transport=transport))
    got = lossy.chat.completions.create(model="cairn", messages=user("How is the weather for a Python retry?"))
    equal(got.choices[0].message.content, "It rains in Bergen.")
    equal(transport.sent, 2)
    query = urllib.parse.urlencode({"match": "Python retry"})
    with urllib.request.urlopen(os.environ["MODEL_URL"] + "?" + query) as response:
        equal(json.load(response), 1)


def title():
    raw = client.chat.completions.with_raw_response.create(
        model="cairn-task", messages=user("Write a title for a Python chat."))
    equal(raw.parse().choices[0].message.content, "A title")
    equal(raw.headers.get("x-cairn-conversation"), None)


def response():
    first = client.responses.create(model="cairn", input="How is the weather in a Python response?")
    equal(first.output_text, "It rains in Bergen.")
    second = client.responses.create(model="cairn", input="And now?", previous_response_id=first.id)
    equal(second.conversation.id, first.conversation.id)
    equal(client.responses.retrieve(first.id).output_text, first.output_text)
    client.responses.delete(first.id)
    return fails(openai.NotFoundError, "response_not_found", lambda: client.responses.retrieve(first.id))


def response_tools():
    tools = [{"type": "function", "name": "look_up", "strict": False, "parameters": {
        "type": "object", "properties": {"order": {"type": "string"}}}}]
    asked = client.responses.create(model="cairn", input="Where is order 7 in a Python response?", tools=tools)
    made = [item for item in asked.output if item.type == "function_call"]
    equal([one.name for one in made], ["look_up"])
    answered = client.responses.create(model="cairn", previous_response_id=asked.id, tools=tools, input=[
        {"type": "function_call_output", "call_id": made[0].call_id, "output": "in Bergen"}])
    equal(answered.output_text, "Order 7 is in Bergen.")


def response_schema():
    got = client.responses.parse(model="cairn", input="Which city in a Python response?", text_format=City)
    equal(got.output_parsed, City(city="Bergen"))


def response_stream():
    with client.responses.stream(model="cairn", input="How is the weather in a Python response stream?") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        equal(text, "It rains in Bergen.")
        equal(stream.get_final_response().output_text, text)


def response_resumed():
    text, last, ident = "", 0, ""
    stream = client.responses.create(
        model="cairn", input="How is the weather in a resumed Python response?", stream=True, background=True)
    for event in stream:
        last = event.sequence_number
        if event.type == "response.created":
            ident = event.response.id
        if event.type == "response.output_text.delta":
            text += event.delta
            break
    stream.close()
    for event in client.responses.retrieve(ident, stream=True, starting_after=last):
        if event.type == "response.output_text.delta":
            text += event.delta
    equal(text, "It rains in Bergen.")
    return f"starting_after={last}"


def poor():
    one = openai.OpenAI(api_key=os.environ["CAIRN_POOR_KEY"], base_url=BASE)
    one.chat.completions.create(model="cairn", messages=user("Hello"))


call("models", models)
call("chat", chat)
call("chat, streamed", streamed)
call("chat, history", history)
call("tools, loop of the client", tools)
call("JSON Schema, parsed", schema)
call("stream helper", stream_helper)
call("AsyncOpenAI", asynchronous)
call("a retry is one model call", retry)
call("cairn-task", title)
call("responses", response)
call("responses, tools", response_tools)
call("responses, parsed", response_schema)
call("responses, stream helper", response_stream)
call("responses, starting_after", response_resumed)
call("AuthenticationError", lambda: fails(openai.AuthenticationError, "invalid_api_key", lambda: list(
    openai.OpenAI(api_key="cairn_wrong", base_url=BASE).models.list())))
call("NotFoundError", lambda: fails(openai.NotFoundError, "model_not_found", lambda: ask("Hello", model="gpt-4o")))
call("BadRequestError", lambda: fails(openai.BadRequestError, "unsupported_parameter", lambda: ask("Hello", n=2)))
call("context length", lambda: fails(openai.BadRequestError, "context_length_exceeded", lambda: ask("A long Python story")))
call("RateLimitError", lambda: fails(openai.RateLimitError, "insufficient_quota", poor))

"""Runs slack-sdk 3.47.0 with Cairn's fake of Slack; see checks.py."""

import json
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler
from slack_sdk.models.blocks import ActionsBlock, ButtonElement, MarkdownBlock
from slack_sdk.models.metadata import Metadata
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

from checks import BUSY, URL, check, control, end, say, sent, wait

BOT, APP, SECRET = "xoxb-1-test", "xapp-1-test", "signing-secret-of-the-test"


def code(call):
    try:
        call()
    except SlackApiError as e:
        return e.response["error"]
    return "no error"


def methods(web):
    me = web.auth_test()
    check("auth.test", me["user_id"] == "U0CAIRN" and "files:read" in me.headers["x-oauth-scopes"], me)
    wrong = WebClient("xoxb-wrong", base_url=web.base_url)
    check("a wrong token", code(wrong.auth_test) == "invalid_auth")
    blocks = [MarkdownBlock(text="**bold**"),
              ActionsBlock(elements=[ButtonElement(text="Yes", action_id="a", value="approve 7")])]
    metadata = Metadata("cairn_part", {"key": "k1"})
    first = web.chat_postMessage(channel="D7", text="bold", blocks=blocks, metadata=metadata)
    check("chat.postMessage", first["message"]["blocks"][0]["text"] == "**bold**", first)
    reply = web.chat_postMessage(channel="D7", text="reply", thread_ts=first["ts"])
    read = web.conversations_history(channel="D7", include_all_metadata=True, limit=1)
    check("conversations.history", read["messages"][0].get("metadata", {}).get("event_payload") == {"key": "k1"}, read)
    read = web.conversations_replies(channel="D7", ts=first["ts"])
    check("conversations.replies", [m["ts"] for m in read["messages"]] == [first["ts"], reply["ts"]], read)
    pages = [len(p["messages"]) for p in web.conversations_replies(channel="D7", ts=first["ts"], limit=1)]
    check("pages", pages == [1, 1], pages)
    changed = web.chat_update(channel="D7", ts=reply["ts"], text="changed")
    check("chat.update", changed["text"] == "changed" and sent()[1]["Text"] == "changed", changed)
    check("a text that is too long", code(lambda: web.chat_update(
        channel="D7", ts=reply["ts"], text="x" * 4001)) == "msg_too_long")
    gone = web.chat_postMessage(channel="D7", text="gone")
    check("chat.delete", web.chat_delete(channel="D7", ts=gone["ts"])["ts"] == gone["ts"] and len(sent()) == 2)
    check("a deleted message", code(lambda: web.chat_update(channel="D7", ts=gone["ts"], text="x")) ==
          "message_not_found" and code(lambda: web.chat_delete(channel="D7", ts=gone["ts"])) == "message_not_found")
    control("fail", Fault=BUSY, Seconds=1)
    began = time.time()
    web.chat_update(channel="D7", ts=reply["ts"], text="changed again")
    check("a rate limit of changes", time.time() - began >= 1 and sent()[1]["Text"] == "changed again")
    control("fail", Fault=BUSY, Seconds=1)
    began = time.time()
    web.chat_postMessage(channel="D7", text="busy")
    check("a rate limit", time.time() - began >= 1 and sent()[-1]["Text"] == "busy")
    control("attach", User="7", Name="Ada", Text="file", Data="content of the file")
    name = web.users_info(user="7")["user"]["real_name"]
    check("users.info", name == "Ada", name)
    files = web.conversations_history(channel="D7", limit=1)["messages"][0]["files"]
    info = web.files_info(file=files[0]["id"])["file"]
    request = urllib.request.Request(info["url_private_download"], headers={"Authorization": f"Bearer {BOT}"})
    with urllib.request.urlopen(request, timeout=20) as response:
        check("files.info", response.read() == b"content of the file", info)


def socket_mode(web):
    got, refuse = [], []

    def receive(client, request):
        got.append(request)
        if refuse:
            refuse.pop()
            return
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    def texts():
        return [r.payload.get("event", {}).get("text") for r in got]

    client = SocketModeClient(app_token=APP, web_client=web, ping_interval=1)
    client.socket_mode_request_listeners.append(receive)
    client.connect()
    check("Socket Mode connects", wait(client.is_connected))
    say("hello")
    check("an event", wait(lambda: "hello" in texts()), texts())
    check("its acknowledgement", wait(lambda: control("open") == 0))
    refuse.append(True)
    say("again")
    check("an event is repeated", wait(lambda: texts().count("again") == 2), texts())
    repeated = [r for r in got if r.payload.get("event", {}).get("text") == "again"][-1]
    check("its retry_attempt", repeated.retry_attempt == 1 and repeated.retry_reason == "timeout", repeated.to_dict())
    control("press", User="7", Chat="D7", Data="approve 7")
    check("a press", wait(lambda: got[-1].type == "interactive"), got[-1].to_dict())
    check("its value", got[-1].payload["actions"][0]["value"] == "approve 7", got[-1].payload)
    for action in ("warn", "drop"):
        session = client.session_id()
        control(action)
        say(action)
        check(f"another connection after {action}", wait(lambda: client.session_id() != session))
        check(f"an event after {action}", wait(lambda: action in texts()), texts())
    client.close()


def events_api():
    verifier, seen = SignatureVerifier(SECRET), []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            headers = dict(self.headers.items())
            event = json.loads(body) if body.startswith("{") else {}
            seen.append((verifier.is_valid_request(body, headers), headers.get("X-Slack-Retry-Num"), event))
            self.send_response(500 if len(seen) == 2 else 200)
            self.end_headers()
            self.wfile.write(event.get("challenge", "").encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    control("mount", URL=f"http://127.0.0.1:{server.server_port}")
    check("a challenge", len(seen) == 1 and seen[0][0] and seen[0][2]["type"] == "url_verification", seen)
    control("notify", User="7", Name="Ada", Text="hello")
    check("an event by HTTP", wait(lambda: len(seen) == 3), seen)
    check("signatures", all(s[0] for s in seen), seen)
    check("X-Slack-Retry-Num", [s[1] for s in seen] == [None, None, "1"], seen)
    server.shutdown()


web_client = WebClient(BOT, base_url=f"{URL}/api/")
web_client.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=1))
methods(web_client)
socket_mode(web_client)
events_api()
end()

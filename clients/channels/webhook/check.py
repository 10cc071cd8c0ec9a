"""Runs standardwebhooks 1.1.0 with Cairn's adapter of webhooks, and with the fake of a program; see checks.py."""

import datetime
import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

from checks import BUSY, GONE, UNKNOWN, URL, check, control, end, say, sent, wait

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
OTHER = "whsec_b3RoZXIgc2VjcmV0IG9mIDI0IGJ5dGVzIG9yIG1vcmU="
EVENTS = f"{URL}/channels/ada/events"
webhook = Webhook(SECRET)


def now(minutes=0):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)


class Program(BaseHTTPRequestHandler):
    """A program that verifies what it gets."""

    got, statuses = [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            value = webhook.verify(body, headers)
        except WebhookVerificationError as error:
            value = error
        self.got.append((value, headers, body))
        status = self.statuses.pop(0) if self.statuses else 204
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "3")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def start():
    server = HTTPServer(("127.0.0.1", 0), Program)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def post(url, identifier, body, secret=SECRET, minutes=0, before=""):
    """Signs a body, and returns the status of the response, or 0 if there is none."""
    raw, at = json.dumps(body, ensure_ascii=False), now(minutes)
    headers = {"webhook-id": identifier, "webhook-timestamp": str(int(at.timestamp())),
               "webhook-signature": before + Webhook(secret).sign(identifier, at, raw)}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, raw.encode(), headers), timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def message(text, **more):
    return {"conversation": "c1", "text": text, "sender": {"id": "7", "name": "Ada"}, **more}


def accepting():
    check("an event is accepted", post(EVENTS, "e1", message("Grüße 👋", thread="42", mentioned=True)) == 204)
    event = control("events")[-1]
    check("and has its members", (event["key"], event["text"], event["place"]["chat"], event["place"]["thread"],
                                  event["sender"]["id"], event["mentioned"])
          == ("e1", "Grüße 👋", "c1", "42", "7", True), event)
    check("one of several signatures is enough",
          post(EVENTS, "e2", message("Rotated"), before=f"v1,{'A' * 43}= ") == 204)
    for name, options in {"of another secret": {"secret": OTHER}, "that is old": {"minutes": -10},
                          "of the future": {"minutes": 10}}.items():
        check(f"a signature {name} is refused", post(EVENTS, "e3", message("No"), **options) == 401)
    check("a body without a sender is refused", post(EVENTS, "e4", {"conversation": "c1", "text": "No"}) == 400)
    control("refuse")
    check("an event that is not stored is refused", post(EVENTS, "e5", message("Again")) == 503)
    check("and accepted later", post(EVENTS, "e5", message("Again")) == 204)
    for kind in ("edited", "deleted", "button"):
        check(f"{kind} is accepted", post(EVENTS, f"e-{kind}", message("x", type=kind, message_id="e1")) == 204)
    keys = [event["key"] for event in control("events")]
    check("nothing else is stored", keys == ["e1", "e2", "e5", "e-edited", "e-deleted", "e-button"], keys)


def sending(url):
    def send(status, key="part/1", text="Grüße 👋 <b>"):
        Program.statuses = [status]
        return control("send", URL=url, Chat="c1", Thread="42", ID=key, Text=text, Data="approve 7")

    result = send(204)
    value, headers, body = Program.got[-1]
    check("Cairn's signature is verified", not isinstance(value, Exception) and headers["webhook-id"] == "part/1",
          value)
    check("the message has its members", value == {"conversation": "c1", "thread": "42", "text": "Grüße 👋 <b>",
                                                   "buttons": [{"label": "Yes", "data": "approve 7"}]}, value)
    check("and is sent", result["ID"] == "part/1" and not result["Error"], result)
    changed = {"body": (body + " ", headers), "ID": (body, {**headers, "webhook-id": "part/2"}),
               "time": (body, {**headers, "webhook-timestamp": str(int(now().timestamp()) + 7)})}
    for name, (raw, values) in changed.items():
        try:
            webhook.verify(raw, values)
            check(f"another {name} is refused", False, "accepted")
        except WebhookVerificationError:
            check(f"another {name} is refused", True)
    result = send(429)
    check("429 is a time to wait", result["RetryAfter"] == 3 and not result["Permanent"], result)
    check("410 is permanent", send(410)["Permanent"])
    result = send(500)
    check("500 is not permanent", result["Error"] and not result["Permanent"], result)
    check("the same part has the same ID", send(204)["ID"] == "part/1" and
          Program.got[-1][1]["webhook-id"] == "part/1")


def pretending(url):
    """Uses the fake of a program in the place of Cairn."""
    check("the fake accepts a message", post(URL, "k1", {"conversation": "c1", "text": "Hello"}) == 200)
    check("the fake counts an ID once", post(URL, "k1", {"conversation": "c1", "text": "Hello"}) == 200 and
          [m["ID"] for m in sent()] == ["k1"], sent())
    check("the fake refuses another secret", post(URL, "k2", {"conversation": "c1", "text": "No"}, OTHER) == 401)
    for fault, status in {BUSY: 429, GONE: 410}.items():
        control("fail", Fault=fault, Seconds=3)
        check(f"the fake answers {status}", post(URL, "k3", {"conversation": "c1", "text": "No"}) == status)
    control("fail", Fault=UNKNOWN)
    check("the fake breaks the connection", post(URL, "k4", {"conversation": "c1", "text": "Lost"}) == 0 and
          sent()[-1]["Text"] == "Lost", sent())
    before = len(Program.got)
    Program.statuses = [500]
    control("mount", URL=url)
    identifier = say("Hello")
    check("the fake repeats an event", wait(lambda: len(Program.got) == before + 2), Program.got[before:])
    values = [(headers["webhook-id"], value) for value, headers, _ in Program.got[before:]]
    check("the fake's signatures are verified",
          all(i == identifier and not isinstance(v, Exception) and v["text"] == "Hello" for i, v in values), values)


accepting()
program = start()
sending(program)
pretending(program)
end()

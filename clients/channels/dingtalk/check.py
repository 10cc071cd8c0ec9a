"""Runs dingtalk-stream 0.24.3 with Cairn's fake of DingTalk; see checks.py."""

import asyncio
import json
import logging
import os
import threading

import requests

from checks import URL, acknowledged, check, control, end, say, sent, wait

os.environ["DINGTALK_OPENAPI_ENDPOINT"] = URL  # read when the client is imported

import dingtalk_stream  # noqa: E402
from dingtalk_stream import AckMessage  # noqa: E402

CLIENT, SECRET = "dingabc123", "dingtalk-client-secret"
events = []
refuse = []


class Handler(dingtalk_stream.ChatbotHandler):
    async def process(self, callback):
        if refuse:
            refuse.pop()
            return AckMessage.STATUS_SYSTEM_EXCEPTION, "the check does not accept the message"
        m = dingtalk_stream.ChatbotMessage.from_dict(callback.data)
        events.append((m.message_id, m.text.content, m.conversation_type, m.sender_staff_id, m.sender_nick))
        if m.text.content == "Hello":
            self.reply_text("Answer", m)
        return AckMessage.STATUS_OK, "OK"


logger = logging.getLogger("check")
logger.addHandler(logging.NullHandler())
logger.propagate = False
credential = dingtalk_stream.Credential(CLIENT, SECRET)
client = dingtalk_stream.DingTalkStreamClient(credential, logger=logger)


def receive():
    client.register_callback_handler(dingtalk_stream.ChatbotMessage.TOPIC, Handler())
    asyncio.run(client.start())


def has(*wanted):
    return wait(lambda: any(e[:len(wanted)] == wanted for e in events))


def request(path, body):
    headers = {"x-acs-dingtalk-access-token": client.get_access_token() or ""}
    return requests.post(URL + path, headers=headers, json=body, timeout=10)


def markdown(text):
    return {"robotCode": CLIENT, "msgKey": "sampleMarkdown", "msgParam": json.dumps({"title": "T", "text": text})}


def check_requests():
    check("a token is given", bool(client.get_access_token()))
    wrong = dingtalk_stream.DingTalkStreamClient(dingtalk_stream.Credential(CLIENT, "wrong"), logger=logger)
    check("a wrong secret is refused", wrong.get_access_token() is None and wrong.open_connection() is None)
    one = request("/v1.0/robot/oToMessages/batchSend", {**markdown("Hello"), "userIds": ["7"]})
    check("a private message is sent", one.ok and sent()[-1]["Chat"] == "user:7", one.text)
    group = request("/v1.0/robot/groupMessages/send", {**markdown("Hello"), "openConversationId": "cidgroup1"})
    check("a message to a group is sent", group.ok and sent()[-1]["Chat"] == "cidgroup1", group.text)


def check_messages():
    threading.Thread(target=receive, daemon=True).start()
    first = say("Hello")
    check("a message arrives", has(first, "Hello", "1", "7", "Ada"), events)
    check("and is acknowledged", acknowledged())
    check("a reply by its session is sent", wait(lambda: sent()[-1]["Text"] == "Answer"), sent())
    group = say("You", Chat="cidgroup1", Mention=True)
    check("a mention arrives", has(group, " You", "2", "7"), events)
    refuse.append(True)
    check("a refused message arrives again", has(say("Again"), "Again"))
    control("drop")
    check("a message arrives on a new connection", has(say("After"), "After"))
    check("all is acknowledged", acknowledged())


check_requests()
check_messages()
end()

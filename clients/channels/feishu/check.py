"""Runs lark-oapi 1.7.5 with Cairn's fake of Feishu; see checks.py."""

import json
import threading

import lark_oapi as lark
from lark_oapi.api.im.v1 import (
    CreateMessageRequest,
    CreateMessageRequestBody,
    DeleteMessageRequest,
    GetMessageRequest,
    PatchMessageRequest,
    PatchMessageRequestBody,
    ReplyMessageRequest,
    ReplyMessageRequestBody,
)
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse

from checks import URL, acknowledged, check, control, end, say, sent, wait

APP, SECRET = "cli_a1b2c3", "feishu-app-secret"
CHAT = "oc_private_7"
events = []
refuse = []


def card(text, *buttons):
    elements = [{"tag": "markdown", "content": text}]
    for label, data in buttons:
        elements.append({"tag": "button", "text": {"tag": "plain_text", "content": label},
                         "behaviors": [{"type": "callback", "value": {"data": data}}]})
    return json.dumps({"schema": "2.0", "config": {"update_multi": True}, "body": {"elements": elements}})


def on_message(data):
    if refuse:
        refuse.pop()
        raise RuntimeError("the check does not accept the message")
    m = data.event.message
    events.append(("message", m.message_id, json.loads(m.content).get("text"), m.thread_id, m.chat_type,
                   data.event.sender.sender_id.open_id, [x.id.open_id for x in m.mentions or []]))


def on_recall(data):
    events.append(("recalled", data.event.message_id))


def on_press(data):
    events.append(("press", data.event.action.value["data"], data.event.operator.open_id,
                   data.event.context.open_chat_id))
    return P2CardActionTriggerResponse({"toast": {"type": "info", "content": "Done"}})


def receive():
    handler = (lark.EventDispatcherHandler.builder("", "")
               .register_p2_im_message_receive_v1(on_message)
               .register_p2_im_message_recalled_v1(on_recall)
               .register_p2_card_action_trigger(on_press)
               .build())
    lark.ws.Client(APP, SECRET, event_handler=handler, domain=URL, log_level=lark.LogLevel.CRITICAL).start()


def has(*wanted):
    return wait(lambda: any(e[:len(wanted)] == wanted for e in events))


def check_requests():
    # First, because the client keeps tokens for all secrets of an app.
    wrong = lark.Client.builder().app_id(APP).app_secret("wrong").domain(URL).log_level(lark.LogLevel.CRITICAL).build()
    try:
        accepted = wrong.im.v1.message.get(GetMessageRequest.builder().message_id("om_1").build()).success()
    except Exception:
        accepted = False
    check("a wrong secret is refused", not accepted)
    client = lark.Client.builder().app_id(APP).app_secret(SECRET).domain(URL).build()

    def create(key, text, *buttons):
        body = (CreateMessageRequestBody.builder().receive_id(CHAT).msg_type("interactive")
                .content(card(text, *buttons)).uuid(key).build())
        return client.im.v1.message.create(
            CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body).build())

    first = create("k1", "Hello", ("Yes", "approve 7"))
    check("a card is sent", first.success() and sent()[-1]["Text"] == "Hello", first.msg)
    again = create("k1", "Hello", ("Yes", "approve 7"))
    check("a uuid is sent once", again.success() and again.data.message_id == first.data.message_id
          and len(sent()) == 1, again.msg)
    large = create("k2", "x" * 31_000)
    check("a card of 31 KB is refused", large.code == 230025, large.msg)
    body = PatchMessageRequestBody.builder().content(card("Changed")).build()
    patched = client.im.v1.message.patch(
        PatchMessageRequest.builder().message_id(first.data.message_id).request_body(body).build())
    check("a card is changed", patched.success() and sent()[0]["Text"] == "Changed", patched.msg)
    found = client.im.v1.message.get(GetMessageRequest.builder().message_id(first.data.message_id).build())
    check("a message is read", found.success() and found.data.items[0].sender.id == APP, found.msg)
    body = (ReplyMessageRequestBody.builder().msg_type("interactive").content(card("Reply"))
            .reply_in_thread(True).uuid("k3").build())
    reply = client.im.v1.message.reply(
        ReplyMessageRequest.builder().message_id(first.data.message_id).request_body(body).build())
    check("a reply is in a thread", reply.success() and sent()[-1]["Thread"] != "", reply.msg)
    gone = create("k5", "To be recalled").data.message_id
    deletion = DeleteMessageRequest.builder().message_id(gone).build()
    check("a message is recalled", client.im.v1.message.delete(deletion).success() and
          gone not in [m["ID"] for m in sent()], sent())
    check("a recalled message is not recalled again", client.im.v1.message.delete(deletion).code == 230011)
    patched = client.im.v1.message.patch(PatchMessageRequest.builder().message_id(gone).request_body(
        PatchMessageRequestBody.builder().content(card("Too late")).build()).build())
    check("a recalled message is not changed", patched.code == 230011, patched.msg)
    check("a button is shown", create("k4", "Approve?", ("Yes", "approve 7")).success()
          and sent()[-1]["Buttons"][0]["data"] == "approve 7", sent()[-1])


def check_events():
    threading.Thread(target=receive, daemon=True).start()
    message = say("Hello")
    check("a message arrives", has("message", message, "Hello", None, "p2p", "7"), events)
    check("and is acknowledged", acknowledged())
    mention = say("You", Chat="oc_group_1", Mention=True, Thread="42")
    check("a mention arrives", has("message", mention, "@_user_1 You", "omt_42", "group", "7", ["ou_bot"]), events)
    long = "word " * 4000
    check("a message of many frames arrives", has("message", say(long), long))
    refuse.append(True)
    check("a refused message arrives again", has("message", say("Again"), "Again"))
    control("drop")
    check("a message arrives on a new connection", has("message", say("After"), "After"))
    control("press", User="7", Chat=CHAT, Data="approve 7")
    check("a press arrives", has("press", "approve 7", "7", CHAT), events)
    control("delete", Chat=CHAT, ID=message)
    check("a recall arrives", has("recalled", message), events)
    check("all is acknowledged", acknowledged())


check_requests()
check_events()
end()

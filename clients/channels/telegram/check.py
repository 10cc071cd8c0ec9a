"""Runs python-telegram-bot 22.8 with Cairn's fake of Telegram; see checks.py."""

import asyncio
import logging

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, Update
from telegram.constants import ChatAction, ChatType, ParseMode
from telegram.error import BadRequest, Forbidden, InvalidToken, NetworkError, RetryAfter
from telegram.ext import ApplicationBuilder, CallbackQueryHandler, CommandHandler, MessageHandler, filters

from checks import BROKEN, BUSY, GONE, UNKNOWN, URL, act, check, end, sent

TOKEN = "12345:test"
GROUP = "-1001"
logging.disable(logging.CRITICAL)  # polling logs each broken connection


class Received:
    """Keeps what the handlers of the application get."""

    def __init__(self):
        self.queue = asyncio.Queue()

    def handler(self, kind):
        async def receive(update, _):
            await self.queue.put((kind, update))
        return receive

    async def next(self, kind):
        async with asyncio.timeout(20):
            while True:
                got, update = await self.queue.get()
                if got == kind:
                    return update


def build(token):
    return ApplicationBuilder().token(token).base_url(f"{URL}/bot").base_file_url(f"{URL}/file/bot").build()


async def fails(name, error, call, is_right=lambda e: True):
    try:
        await call
        check(name, False, "accepted")
    except error as e:
        check(name, is_right(e), repr(e))


async def receiving(bot, received):
    identifier = await act("say", User="7", Name="Ada", Text="Grüße 👋")
    m = (await received.next("message")).message
    check("a private message arrives", (m.text, str(m.message_id), m.chat.type, m.from_user.id, m.from_user.first_name)
          == ("Grüße 👋", identifier, ChatType.PRIVATE, 7, "Ada"), m)
    await act("edit", Chat="7", ID=identifier, Text="Changed")
    m = (await received.next("edit")).edited_message
    check("an edit arrives", m.text == "Changed" and str(m.message_id) == identifier and m.edit_date, m)
    await act("say", User="7", Name="Ada", Chat=GROUP, Text="👋 hello", Mention=True)
    m = (await received.next("message")).message
    check("a mention in a group arrives", m.chat.type == ChatType.SUPERGROUP and
          list(m.parse_entities([MessageEntity.MENTION]).values()) == [f"@{bot.username}"], m)
    await act("say", User="7", Name="Ada", Chat=GROUP, Thread="42", Text="In a topic")
    m = (await received.next("message")).message
    check("a message of a topic arrives", m.is_topic_message and m.message_thread_id == 42, m)
    await act("say", User="7", Name="Ada", Text="/start now")
    check("a command arrives", (await received.next("command")).message.text == "/start now")
    await act("say", User="9", Name="Robot", Text="I am a bot", Bot=True)
    check("a message of a bot arrives", (await received.next("message")).message.from_user.is_bot)
    await act("attach", User="7", Name="Ada", Text="Read this", Data="eggs")
    m = (await received.next("message")).message
    file = await m.document.get_file()
    data = bytes(await file.download_as_bytearray())
    check("a file arrives", (m.caption, m.document.file_name, data) == ("Read this", "notes.txt", b"eggs"), m)


async def sending(bot):
    first = await bot.send_message(7, "<b>bold</b> &amp; more", parse_mode=ParseMode.HTML)
    check("a message is sent", sent()[-1]["ID"] == str(first.message_id) and first.text == "bold & more" and
          first.chat.type == ChatType.PRIVATE and first.from_user == bot.bot, first)
    second = await bot.send_message(GROUP, "Reply", message_thread_id=42)
    check("a message to a topic is sent", (sent()[-1]["Chat"], sent()[-1]["Thread"]) == (GROUP, "42") and
          second.is_topic_message and second.chat.type == ChatType.SUPERGROUP, second)
    edited = await first.edit_text("<i>changed</i>", parse_mode=ParseMode.HTML)
    check("a message is changed", edited.text == "changed" and edited.edit_date and edited.chat.id == 7 and
          sent()[-2]["Text"] == "<i>changed</i>", edited)
    await fails("a change to the same text is refused", BadRequest,
                first.edit_text("<i>changed</i>", parse_mode=ParseMode.HTML), lambda e: "not modified" in e.message)
    await fails("a change of an unknown message is refused", BadRequest,
                bot.edit_message_text("x", chat_id=7, message_id=9999), lambda e: "not found" in e.message)
    before = len(sent())
    check("a preview is shown", await bot.send_message_draft(7, 5, "<b>It</b> rains", parse_mode=ParseMode.HTML) and
          len(sent()) == before)
    await fails("a preview in a group is refused", BadRequest, bot.send_message_draft(int(GROUP), 5, "It rains"))
    third = await bot.send_message(7, "To be deleted")
    check("a message is deleted", await third.delete() and len(sent()) == before)
    await fails("a deleted message is not found", BadRequest, third.delete(), lambda e: "not found" in e.message)
    check("4,096 units are sent", await bot.send_message(7, "👋" * 2048))
    await fails("4,097 units are refused", BadRequest, bot.send_message(7, "x" * 4097), lambda e: "long" in e.message)
    await fails("an empty text is refused", BadRequest, bot.send_message(7, " "), lambda e: "empty" in e.message)
    for wrong in ("<b>open", "<h1>unknown</h1>", "<b><i>crossed</b></i>"):
        await fails(f"{wrong} is refused", BadRequest, bot.send_message(7, wrong, parse_mode=ParseMode.HTML),
                    lambda e: "parse entities" in e.message)
    check("an action is shown", await bot.send_chat_action(7, ChatAction.TYPING))


async def failing(bot):
    before = len(sent())
    await act("fail", Fault=BUSY, Seconds=3)
    await fails("a rate limit has a time", RetryAfter, bot.send_message(7, "x"),
                lambda e: getattr(e.retry_after, "seconds", e.retry_after) == 3)
    await act("fail", Fault=GONE)
    await fails("a blocked bot is refused", Forbidden, bot.send_message(7, "x"))
    await act("fail", Fault=BROKEN)
    await fails("status 500 is a network error", NetworkError, bot.send_message(7, "x"))
    check("nothing was sent", len(sent()) == before, sent()[before:])
    await act("fail", Fault=UNKNOWN)
    await fails("a lost response is a network error", NetworkError, bot.send_message(7, "Lost"))
    check("and the message was sent", [m["Text"] for m in sent()[before:]] == ["Lost"], sent()[before:])
    await fails("an unknown method is refused", InvalidToken, bot.get_user_profile_photos(7))


async def pressing(bot, received):
    button = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="approve 7"),
                                    InlineKeyboardButton("No", callback_data="reject 7")]])
    m = await bot.send_message(7, "Approve?", reply_markup=button)
    check("buttons are sent", sent()[-1]["Buttons"][1]["data"] == "reject 7" and m.reply_markup == button, m)
    await act("press", User="7", Chat="7", Data="approve 7")
    query = (await received.next("press")).callback_query
    check("a press arrives", (query.data, query.from_user.id, query.message.message_id, query.message.chat.id) ==
          ("approve 7", 7, m.message_id, 7), query)
    check("a press is answered", await query.answer())


async def reconnecting(received):
    await act("drop")
    await act("say", User="7", Name="Ada", Text="While away")
    m = (await received.next("message")).message
    check("a message arrives on a new connection", m.text == "While away", m)
    await act("repeat")
    await act("say", User="7", Name="Ada", Text="Last")
    texts = [m.text]
    while texts[-1] != "Last":
        texts.append((await received.next("message")).message.text)
    check("a confirmed update is not repeated", texts == ["While away", "Last"], texts)


async def main():
    await fails("a wrong token is refused", InvalidToken, build("12345:wrong").bot.initialize())
    application, received = build(TOKEN), Received()
    edits = filters.UpdateType.EDITED_MESSAGE
    application.add_handler(MessageHandler(edits, received.handler("edit")))
    application.add_handler(CommandHandler("start", received.handler("command")))
    application.add_handler(MessageHandler(filters.ALL, received.handler("message")))
    application.add_handler(CallbackQueryHandler(received.handler("press")))
    async with application:
        check("the bot has a name", application.bot.username == "cairn_bot", application.bot.bot)
        await application.start()
        await application.updater.start_polling(allowed_updates=Update.ALL_TYPES)
        await receiving(application.bot, received)
        await sending(application.bot)
        await failing(application.bot)
        await pressing(application.bot, received)
        await reconnecting(received)
        await application.updater.stop()
        await application.stop()
    check("polling ends", not application.running)


asyncio.run(main())
end()

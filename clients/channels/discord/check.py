"""Runs discord.py 2.7.1 with Cairn's fake of Discord; see checks.py."""

import asyncio

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from checks import BUSY, URL, act, check, end

TOKEN = "NTAw.Test.secret-of-the-bot"
ADA = "700000000000000007"  # private channel of user 7
GROUP = "800000000000000001"
PATIENCE = 15  # seconds

Route.BASE = URL + "/api/v10"


class Bot(discord.Client):
    def __init__(self):
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(intents=intents)
        self.events = asyncio.Queue()
        self.running = asyncio.Event()

    async def on_ready(self):
        self.running.set()

    async def on_message(self, message):
        if message.author != self.user:
            await self.events.put(("message", message))

    async def on_raw_message_edit(self, event):
        await self.events.put(("edit", event))

    async def on_raw_message_delete(self, event):
        await self.events.put(("delete", event))

    async def on_interaction(self, interaction):
        await interaction.response.defer()
        await self.events.put(("press", interaction))

    async def next(self, kind):
        """Returns the next event of a kind."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found, event = await self.events.get()
                if found == kind:
                    return event


async def receiving(bot):
    identifier = await act("say", User="7", Name="Ada", Text="Grüße 👋")
    message = await bot.next("message")
    check("private message", (message.content, str(message.id)) == ("Grüße 👋", identifier), message)
    check("private channel", isinstance(message.channel, discord.DMChannel) and message.author.global_name == "Ada",
          message)
    await act("edit", Chat=ADA, ID=identifier, Text="Changed")
    event = await bot.next("edit")
    check("edit", event.message.content == "Changed" and event.message.edited_at is not None, event)
    await act("delete", Chat=ADA, ID=identifier)
    check("deletion", str((await bot.next("delete")).message_id) == identifier)
    await act("say", User="7", Name="Ada", Chat=GROUP, Text="Hello", Mention=True)
    message = await bot.next("message")
    check("mention in a server", bot.user in message.mentions and message.guild.name == "Server" and
          isinstance(message.channel, discord.TextChannel), message)
    await act("say", User="7", Name="Ada", Chat=GROUP, Thread="42", Text="In a thread")
    message = await bot.next("message")
    channel = await bot.http.get_channel(42)
    check("thread", message.channel.id == 42 and channel["parent_id"] == GROUP, channel)
    await act("attach", User="7", Data="eggs")
    file = (await bot.next("message")).attachments[0]
    check("attachment", file.filename == "notes.txt" and await file.read() == b"eggs", file)


async def sending(bot):
    channel = await bot.fetch_user(7)
    channel = await channel.create_dm()
    check("private channel of a user", str(channel.id) == ADA, channel.id)
    first = await channel.send("**bold**")
    await first.edit(content="*changed*")
    sent = await act("sent")
    check("send and edit", sent[-1]["Text"] == "*changed*" and sent[-1]["ID"] == str(first.id), sent)
    history = [m async for m in channel.history(limit=1)]
    check("history", history[0].id == first.id, history)
    later = [m async for m in channel.history(after=discord.Object(first.id - 1))]
    check("history after a message", [m.id for m in later] == [first.id], later)
    async with channel.typing():
        pass
    check("typing", (await act("counts"))["Typing"] >= 1)
    ids = set()
    for _ in range(2):
        data = await bot.http.request(Route("POST", "/channels/{channel_id}/messages", channel_id=channel.id),
                                      json={"content": "Once", "nonce": "abc", "enforce_nonce": True})
        ids.add(data["id"])
    check("enforced nonce", len(ids) == 1, ids)
    try:
        await channel.send("x" * 2001)
        check("limit of 2,000", False, "accepted")
    except discord.HTTPException as error:
        check("limit of 2,000", error.code == 50035 and error.status == 400, error)
    await act("fail", Fault=BUSY, Seconds=1)
    check("rate limit of edits is waited for", (await first.edit(content="Once more")).content == "Once more")
    await act("fail", Fault=BUSY, Seconds=1)
    check("rate limit is waited for", (await channel.send("After a while")).content == "After a while")
    await first.delete()
    try:
        await channel.fetch_message(first.id)
        check("deleted message", False, "found")
    except discord.NotFound as error:
        check("deleted message", error.code == 10008, error)
    try:
        await first.edit(content="Too late")
        check("edit of a deleted message", False, "accepted")
    except discord.NotFound as error:
        check("edit of a deleted message", error.code == 10008 and
              str(first.id) not in [m["ID"] for m in await act("sent")], error)
    return channel


async def pressing(bot, channel):
    view = discord.ui.View()
    view.add_item(discord.ui.Button(label="Yes", custom_id="approve 7"))
    await channel.send("Approve?", view=view)
    await act("press", User="7", Chat=ADA, Data="approve 7")
    press = await bot.next("press")
    check("pressed button", press.data["custom_id"] == "approve 7" and press.user.id == 7, press.data)
    check("answer to a pressed button", (await act("counts"))["Answered"] == 1)


async def reconnecting(bot):
    before = await act("counts")
    await act("drop")
    await act("say", User="7", Name="Ada", Text="While away")
    message = await bot.next("message")
    after = await act("counts")
    check("resume", message.content == "While away" and after["Resumed"] == before["Resumed"] + 1 and
          after["Started"] == before["Started"], after)
    await act("forget")
    for _ in range(PATIENCE * 10):
        if (await act("counts"))["Started"] > after["Started"]:
            break
        await asyncio.sleep(0.1)
    await act("say", User="7", Name="Ada", Text="In a new session")
    check("new session after a refused resume", (await bot.next("message")).content == "In a new session")
    await asyncio.sleep(3)
    check("heartbeats", len((await act("counts"))["Beats"]) > 1 and not bot.is_closed())


async def main():
    async with discord.Client(intents=discord.Intents.none()) as other:
        try:
            await other.login("wrong.token.here")
            check("wrong token", False, "accepted")
        except discord.LoginFailure:
            check("wrong token", True)
    bot = Bot()
    await bot.login(TOKEN)
    _, gateway, _ = await bot.http.get_bot_gateway()
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    check("application", bot.application.flags.gateway_message_content_limited, bot.application)
    connection = asyncio.create_task(bot.connect())
    async with asyncio.timeout(PATIENCE):
        await bot.running.wait()
    check("session", bot.user.id == 500000000000000001 and [g.name for g in bot.guilds] == ["Server"], bot.guilds)
    await receiving(bot)
    await pressing(bot, await sending(bot))
    await reconnecting(bot)
    await bot.close()
    await connection


asyncio.run(main())
end()

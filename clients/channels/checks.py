"""What the checks of all platforms share.

FAKE_URL is what `go run ./clients/channels PLATFORM` prints. A check.py prints one line for each check, and exits with
status 1 if one fails. Only the addresses and credentials of the SDKs are set.
"""

import asyncio
import json
import os
import sys
import time
import urllib.request

URL = os.environ["FAKE_URL"]
BUSY, BROKEN, UNKNOWN, GONE = 1, 2, 3, 4  # faults, as in channeltest
failed = False


def control(action, **body):
    """Acts for a user or for the platform."""
    request = urllib.request.Request(f"{URL}/control/{action}", json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


async def act(action, **body):
    """Is control for asynchronous programs."""
    return await asyncio.to_thread(control, action, **body)


def say(text, **more):
    """Makes user 7 write, and returns the ID of the message."""
    return control("say", **{"User": "7", "Name": "Ada", "Text": text, **more})


def sent():
    """Returns the messages of the bot."""
    return control("sent") or []


def wait(is_done, seconds=30):
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def acknowledged():
    return wait(lambda: control("open") == 0)


def check(name, ok, detail=""):
    global failed
    failed = failed or not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name}{'' if ok or detail == '' else f': {detail}'}", flush=True)


def end():
    """Ends the program. Threads of the SDKs may not end."""
    sys.stdout.flush()
    os._exit(1 if failed else 0)

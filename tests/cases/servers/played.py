"""Plays a server byte for byte. Its argument is a file with a list of acts, each a name and a text in latin-1."""

import json
import os
import signal
import sys
import time

heard = b""


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


with open(sys.argv[1]) as file:
    acts = json.load(file)

for act, text in acts:
    if act == "read":
        heard = sys.stdin.buffer.readline()
    elif act == "write":
        write(text.encode("latin-1"))
    elif act == "trickle":
        for byte in text.encode("latin-1"):
            write(bytes([byte]))
            time.sleep(0.001)
    elif act == "say":
        os.write(2, text.encode("latin-1"))
    elif act == "show":
        # What was read last, for a test to look at.
        os.write(2, repr(heard).encode() + b"\n")
    elif act == "close":
        os.close(int(text))
    elif act == "exit":
        sys.exit(int(text))
    elif act == "kill":
        os.kill(os.getpid(), signal.SIGKILL)

sys.stdin.buffer.read()

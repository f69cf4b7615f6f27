"""A server of the handshake alone. Its argument says what it does about any other request: `refuse`, `ignore`, `exit`.

Several may be joined by `+`. What it is sent it names on its standard error.
"""

import json
import sys

WELCOME = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "older", "version": "1"}}
UNKNOWN = {"code": -32601, "message": "unknown"}

manner = sys.argv[1].split("+")
for line in sys.stdin:
    message = json.loads(line)
    sys.stderr.write(f"{message['method']}\n")
    sys.stderr.flush()
    if message["method"] == "initialize":
        answer = {"result": WELCOME}
    elif "id" in message and "refuse" in manner:
        answer = {"error": UNKNOWN}
    else:
        answer = None
    if answer is not None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
        sys.stdout.flush()
    if "id" in message and message["method"] != "initialize" and "exit" in manner:
        sys.exit(3)

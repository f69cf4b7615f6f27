"""The machine: real standard input and output, child processes, and what differs between platforms.

Streams made here go into the transports, which know nothing of where bytes come from. What differs between platforms
lives in `platform_*.py` and nowhere else. No rule of the protocol may enter.
"""

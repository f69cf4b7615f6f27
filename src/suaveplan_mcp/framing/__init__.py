"""Bytes to frames and back, at any chunking and in linear time: lines for stdio, event streams for HTTP.

A frame is the bytes of one message; what is inside it is not looked at. No I/O, no clock, no JSON may enter.
"""

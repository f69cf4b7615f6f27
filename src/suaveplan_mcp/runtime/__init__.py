"""Tasks, timers, threads and cancellation: what turns the state machines into something that runs.

Everything here lives on asyncio's futures and tasks and waits only through injected timers. No socket, pipe, process
or file may enter, nor what a method means: that is the protocol's.
"""

"""How much of a frame is kept."""

import tracemalloc

from suaveplan_mcp.framing.limits import FrameTooLarge, LimitedBuffer


def test_parts_within_the_limit_are_joined() -> None:
    buffer = LimitedBuffer(5)
    buffer.keep(b"ab")
    buffer.keep(b"cde")

    assert b"abcde" == buffer.take()


def test_a_buffer_starts_anew_after_it_was_taken() -> None:
    buffer = LimitedBuffer(5)
    buffer.keep(b"toolong")
    buffer.take()

    assert b"" == buffer.take()


def test_over_the_limit_the_size_and_the_first_200_bytes_are_told() -> None:
    buffer = LimitedBuffer(250)
    buffer.keep(b"a" * 150)
    buffer.keep(b"b" * 100)
    buffer.keep(b"c")
    buffer.keep(b"d" * 1000)

    assert FrameTooLarge(250, 1251, b"a" * 150 + b"b" * 50, b"d" * 200) == buffer.take()


def test_the_last_200_bytes_are_told_however_small_the_parts_are() -> None:
    buffer = LimitedBuffer(250)
    for number in range(300):
        buffer.keep(bytes([number % 256]))
    taken = buffer.take()

    assert isinstance(taken, FrameTooLarge)
    assert bytes(number % 256 for number in range(100, 300)) == taken.end
    assert b"" == buffer.take()


def test_what_is_skipped_counts() -> None:
    buffer = LimitedBuffer(10)
    buffer.keep(b"abc")
    buffer.skip(8)

    assert FrameTooLarge(10, 11, b"abc") == buffer.take()


def test_what_is_over_the_limit_is_not_kept_in_memory() -> None:
    buffer = LimitedBuffer(100_000)
    tracemalloc.start()
    for _ in range(1000):
        buffer.keep(bytes(10_000))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept < 10_000
    assert peak < 200_000

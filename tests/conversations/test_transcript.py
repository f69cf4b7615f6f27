"""The language of the transcripts itself: a conversation that went otherwise does not pass."""

import pytest

from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from tests.conversations.transcript import Speaker, play

PING = '-> {"id": 1, "method": "ping"}\n'


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (PING, "left unsaid by the server"),
        (PING + "server | called ping 2", "line 2: server | called ping 2"),
        (PING + "server | called ping 1\nserver | dropped", "line 3"),
        (PING + "server | called ping 1\nserver: answer 1 {}", "left unsaid by the server"),
        (PING + 'server | called ping 1\nserver: answer 1 {}\n<- {"id": "1", "result": {}}', "line 4"),
        (PING + 'server | called ping 1\n<- {"id": 1, "result": {}}', "was: nothing"),
        ("client: close", "the client is played by the script"),
        ("what?", "line 1 is no line of a transcript"),
    ],
)
def test_a_conversation_that_went_otherwise_does_not_pass(script: str, complaint: str) -> None:
    with pytest.raises(AssertionError) as caught:
        play(script, server=Speaker("server", LATEST_HANDSHAKE))

    assert complaint in str(caught.value)


def test_comments_and_empty_lines_say_nothing() -> None:
    play(
        "\n# only a remark\n\n" + PING + "server | called ping 1  # as it should\n",
        server=Speaker("server", LATEST_HANDSHAKE),
    )

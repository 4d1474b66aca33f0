"""The translation layer: the arena's messages to the bytes of `kratzen.v1`, and back.

Generated protobuf code stops here. `decode` reads what a bot sent, with every check that
does not need the game; `encode` writes all that waits for a bot as one message.
"""

from typing import Final

from arena.wire.inbound import WireError, decode
from arena.wire.outbound import encode
from kratzen.v1 import bot_pb2

BOT_SERVICE: Final = bot_pb2.DESCRIPTOR.services_by_name["BotService"].full_name
"""The full name of the service that bots call."""

PLAY: Final = "Play"
"""The one method of it; its messages are read by `decode` and written by `encode`."""

__all__ = ["BOT_SERVICE", "PLAY", "WireError", "decode", "encode"]

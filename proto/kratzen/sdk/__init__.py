"""What a bot in Python needs: write `Bot.decide`, call `run`.

    from kratzen.sdk import Bot, run

    class First(Bot):
        name = "first"

        def decide(self, request):
            return next(iter(request.legal))

    run(First())

Cards, actions, legal answers and views are those of `engine`. Nothing of the arena is
imported: a bot needs grpcio, protobuf and the engine.
"""

from kratzen.sdk.bot import Bot, Clock, Ending, Rejection, Request, Session
from kratzen.sdk.client import run

__all__ = ["Bot", "Clock", "Ending", "Rejection", "Request", "Session", "run"]

"""A zoo of bad bots: one program, and a behaviour to choose.

    python -m sample_bots.faulty --list
    python -m sample_bots.faulty illegal_card

Each behaviour plays well but for one thing that it does wrong. They are for whoever runs an
arena and wants to see what becomes of the others at the table, and for whoever writes a bot
library and wants to see what the arena answers. `raw` speaks the protocol by hand (gRPC and
the generated messages, without the SDK, which would not let a bot be so bad); `lives`,
`messages` and `answers` are the behaviours; `docs/faults.md` says what follows from each.
"""

from collections.abc import Mapping
from typing import Final

from sample_bots.faulty import answers, lives, messages
from sample_bots.faulty.raw import RawBot

ZOO: Final[Mapping[str, type[RawBot]]] = {
    behaviour.name: behaviour for behaviour in (*lives.BEHAVIOURS, *messages.BEHAVIOURS, *answers.BEHAVIOURS)
}
"""Every behaviour, by its name on the command line."""

__all__ = ["ZOO", "RawBot"]

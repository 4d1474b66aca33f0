"""`python -m sample_bots.faulty BEHAVIOUR`: one bad bot; the environment says where the arena is."""

import argparse
import asyncio
import os
import sys

from kratzen.sdk.client import SettingsError, settings_from
from sample_bots.faulty import ZOO


def main() -> None:
    """Run the behaviour that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m sample_bots.faulty", description="A bot that is bad.")
    parser.add_argument("behaviour", nargs="?", choices=ZOO, metavar="BEHAVIOUR", help="what it does wrong")
    parser.add_argument("--list", action="store_true", help="say what there is")
    chosen = parser.parse_args()
    if chosen.list:
        _show()
        return
    if chosen.behaviour is None:
        parser.error("name a behaviour; --list says what there is")
    try:
        settings = settings_from(os.environ)
    except SettingsError as error:
        parser.error(str(error))
    bot = ZOO[chosen.behaviour](settings)
    asyncio.run(bot.run())
    if bot.status is not None:
        code, details = bot.status
        sys.stderr.write(f"{bot.name}: {code.name} {details}\n")


def _show() -> None:
    width = max(map(len, ZOO))
    for name, behaviour in ZOO.items():
        does = (behaviour.__doc__ or "").splitlines()[0]
        sys.stdout.write(f"{name:{width}}  {does} ({behaviour.follows or 'no fault'})\n")


if __name__ == "__main__":
    main()

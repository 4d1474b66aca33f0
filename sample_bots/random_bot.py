"""The bot to measure others by: every legal answer is as likely as every other."""

import random
from math import comb

from engine.actions import Action, Legal, Subsets
from kratzen.sdk import Bot, Request, run
from sample_bots.basics import answer_with, generator_for


class RandomBot(Bot):
    """Answers at random, and the same at random when it is asked the same again."""

    name = "random"
    version = "1"

    def decide(self, request: Request) -> Action:
        """Any legal answer."""
        return any_answer(request.legal, generator_for(request))


def any_answer(legal: Legal, generator: random.Random) -> Action:
    """One of the legal answers, all with the same chance; subsets are drawn without listing them."""
    if not isinstance(legal, Subsets):
        return generator.choice(legal.actions)
    sizes = range(legal.least, legal.most + 1)
    (size,) = generator.choices(sizes, weights=[comb(len(legal.hand), size) for size in sizes])
    return answer_with(legal, generator.sample(legal.hand, size))


if __name__ == "__main__":
    run(RandomBot())

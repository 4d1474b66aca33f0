"""What the engine refuses, and how it says so.

Three kinds, kept apart: a text that cannot be read, an answer that is not allowed now,
and a ruleset that cannot be. None of them changes anything.
"""


class EngineError(ValueError):
    """The root of everything the engine raises about its input."""


class NotationError(EngineError):
    """A text that names no card, suit or action (`rules.md` §1, §13)."""


class IllegalActionError(EngineError):
    """A well-formed action that is not among the legal answers (`rules.md` §13)."""


class RulesError(EngineError):
    """An option that is unknown, out of range or at odds with another (`rules.md` §3).

    `option` names the option, so that a caller can say where in its file it stands.
    """

    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.option = option


class BrokenDealError(AssertionError):
    """The engine's own laws do not hold: a fault of this program, never of a player."""

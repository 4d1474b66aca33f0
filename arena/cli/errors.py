"""How a command fails: one sentence and an exit code, the same for all of them."""

from typing import Final

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_BOT_FAULTS: Final = 3
EXIT_HUNG_UP: Final = 129
EXIT_INTERRUPTED: Final = 130
EXIT_TERMINATED: Final = 143


class CommandFailed(Exception):  # noqa: N818  it is an outcome of a command, told in a sentence
    """A command cannot do what it was asked; the message says what is wrong and what to do."""

    def __init__(self, sentence: str, exit_code: int = EXIT_USAGE) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code

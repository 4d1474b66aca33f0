"""An argument that is a name or, after two dashes, a command: click alone forgets where the dashes stood."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_WORDS: Final = "words"


def name_or_command(command: F) -> F:
    """Add the argument to a `NameOrCommand`; it arrives as `name`, or else as the words of `command`."""
    return click.argument(_WORDS, nargs=-1, metavar="NAME | -- COMMAND...")(command)


class NameOrCommand(click.Command):
    """A command with the argument of `name_or_command`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take out the command after the dashes, parse the rest, and tell the two forms apart."""
        before, command = _split(args)
        try:
            rest = super().parse_args(ctx, before)
        except click.NoSuchOption as error:
            if command is not None:
                raise
            hint = f"A command's own goes after two dashes: {ctx.command_path} -- COMMAND..."
            raise click.NoSuchOption(
                error.option_name, f"{error.message} {hint}", error.possibilities, ctx
            ) from None
        words = ctx.params.pop(_WORDS)
        if not ctx.resilient_parsing:
            ctx.params["name"], ctx.params["command"] = _meant(ctx, words, command)
        return rest


def _split(args: Sequence[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """What stands before the first two dashes, and what after them; None without dashes."""
    if "--" not in args:
        return list(args), None
    at = args.index("--")
    return list(args[:at]), tuple(args[at + 1 :])


def _meant(
    ctx: click.Context, words: tuple[str, ...], command: tuple[str, ...] | None
) -> tuple[str | None, tuple[str, ...]]:
    """The name, or the command, that is meant. More words than one can be no name."""
    if words and command is not None:
        raise click.UsageError("give either a bot's name or, after two dashes, a command", ctx)
    if not words and not command:
        raise click.UsageError(
            "say which bot: the name of one that is connected, or after two dashes a command that starts one",
            ctx,
        )
    if len(words) == 1:
        return words[0], ()
    return None, words or command or ()

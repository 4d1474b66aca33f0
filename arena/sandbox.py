"""The box that `sandbox = "bwrap"` asks for: what of the machine a bot in it can see.

Makes the options of bubblewrap (`bwrap`) and runs nothing. What is not named here is not there: a bot
sees the system's programs, the arena's Python, the packages that bots are written with, its own files,
its empty folder, two more for files in memory, and the arena's socket. It sees no network, no other process,
and no tournament: neither the file with the seed, nor results, nor another bot.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from arena.bot_command import CommandError, module_place, named_module

SYSTEM_PLACES: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    # Of /etc only what programs need to find their libraries, their alternatives and the time zone.
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
)

MEMORY_PLACES: Final = ("/tmp", "/dev/shm")  # noqa: S108 - those in the box
"""Where a bot may write files that lie in memory and not on a disk."""

BOT_PACKAGES: Final = ("engine", "kratzen", "sample_bots")
"""What the project has for bots. It may lie in a source tree, of which nothing else is shown."""


def find_bwrap() -> Path:
    """The program of bubblewrap.

    Raises:
        CommandError: it is not installed.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise CommandError(
            'asks for sandbox = "bwrap", but bubblewrap is not installed (Debian, Ubuntu: '
            "apt-get install bubblewrap)"
        )
    return Path(found)


def socket_path(address: str) -> Path:
    """The file of the arena's Unix socket: a box has no network, so that there is no other way out of it.

    Raises:
        CommandError: the address is none of a Unix socket.
    """
    scheme, _, path = address.partition(":")
    path = path.removeprefix("//")
    if scheme != "unix" or not path.startswith("/"):
        raise CommandError(f'asks for sandbox = "bwrap", which can reach a Unix socket only, not {address}')
    return Path(path)


def box_words(
    bwrap: Path,
    *,
    words: Sequence[str],
    program: Path,
    tournament_folder: Path,
    own_folder: Path,
    socket: Path,
    environment: Mapping[str, str],
    memory_bytes: int,
) -> tuple[str, ...]:
    """The program of the sandbox and its options, without the bot's command.

    Args:
        bwrap: the sandbox's program.
        words: the bot's command, its files made absolute.
        program: the file that the first word stands for.
        tournament_folder: where the tournament file lies.
        own_folder: the bot's working directory, the one place on a disk where it may write.
        socket: the arena's Unix socket.
        environment: the whole environment of the bot.
        memory_bytes: what its files may take up that lie in memory, all together.
    """
    # In this order: what is mounted later lies on top, and files of the bot may lie below /tmp.
    options = [str(bwrap), "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for memory_place in MEMORY_PLACES:
        options += ["--size", str(memory_bytes // len(MEMORY_PLACES)), "--tmpfs", memory_place]
    shown = [Path(place) for place in SYSTEM_PLACES]
    for place in _own_places(words, program, tournament_folder):
        # What is shown already stays as it is: over a link, such as a venv's python, nothing can be mounted.
        if not any(place.is_relative_to(other) for other in shown):
            shown.append(place)
    for place in shown:
        options += ["--ro-bind-try", str(place), str(place)]
    options += ["--ro-bind", str(socket), str(socket)]
    options += ["--bind", str(own_folder), str(own_folder), "--chdir", str(own_folder)]
    # These two lie in memory as well, and have no size.
    options += ["--remount-ro", "/dev", "--remount-ro", "/"]
    options += ["--clearenv"]
    for name, value in environment.items():
        options += ["--setenv", name, value]
    return tuple(options)


def _own_places(words: Sequence[str], program: Path, tournament_folder: Path) -> Iterator[Path]:
    """Python, the packages for bots, and the bot's own files."""
    yield from (Path(sys.prefix), Path(sys.base_prefix))
    module = named_module(words)
    for name in (*BOT_PACKAGES, *([module.partition(".")[0]] if module else [])):
        place = module_place(name)
        if place is not None:
            yield place
    for path in (program, *(Path(word) for word in words if Path(word).is_absolute())):
        if path.is_file():
            yield _place_of(path, tournament_folder)


def _place_of(file: Path, tournament_folder: Path) -> Path:
    """A file's folder, for what the file needs beside it; the file alone if the folder is not the bot's own.

    Its own is a folder below that of the tournament file, which itself holds the seed and other bots.
    """
    return file.parent if tournament_folder in file.parent.parents else file

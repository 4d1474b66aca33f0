"""A bot's command: its words, where its program and files are, and the digest that tells builds apart.

Knows files and the search path of programs; starts nothing, and runs nobody's code to find it.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Final

_PIECE_BYTES: Final = 1024 * 1024
"""What of a file is read at once."""


class CommandError(ValueError):
    """A command that cannot be run as it stands; the message is the end of a sentence about the bot."""


def absolute_words(words: Sequence[str], folder: Path) -> tuple[str, ...]:
    """The words with those made absolute that name files below `folder`, that of the tournament file.

    A bot runs in an empty folder of its own, where a relative name leads nowhere. What follows `-m` is a
    module's name and stays.
    """
    at_module = _module_index(words)
    files = [None if index == at_module else _file(word, folder) for index, word in enumerate(words)]
    return tuple(word if file is None else str(file) for word, file in zip(words, files, strict=True))


def find_program(words: Sequence[str], search_path: str) -> Path:
    """The file of the program that the words start.

    Raises:
        CommandError: there is none, or it is not executable.
    """
    program = words[0]
    found = shutil.which(program, path=search_path)
    if os.sep not in program:
        if found is None:
            raise CommandError(
                f"cannot be started: no program {program} is installed (PATH is {search_path})"
            )
        return Path(found)
    # A relative name that is left here was no file beside the tournament file.
    if not Path(program).is_absolute() or not Path(program).is_file():
        raise CommandError(f"cannot be started: there is no file {program}")
    if found is None:
        raise CommandError(f"cannot be started: {program} is not executable")
    return Path(found)


def search_path() -> str:
    """`PATH` of a bot: the folder of the arena's own Python first, so that `python` is that one."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _never() -> bool:
    """Whether a digest is given up that somebody waits for to the end."""
    return False


def command_digest(words: Sequence[str], folder: Path, is_given_up: Callable[[], bool] = _never) -> str:
    """SHA-256, in hex digits, over the words as written and the bytes of those that are files.

    For `-m` it is the module's source file, or all that belong to it when it is a package. The folder
    itself does not count: moved to another place with all its files, a bot is the same bot.

    Args:
        words: the command.
        folder: of the tournament file.
        is_given_up: asked between pieces of a file whether nobody waits for the digest any more.

    Raises:
        CommandError: a file cannot be read, or the digest was given up.
    """
    digest = hashlib.sha256()
    at_module = _module_index(words)
    for index, word in enumerate(words):
        _add(digest, "word", word.encode("utf-8", "surrogateescape"))
        files = _module_files(word) if index == at_module else [(word, _file(word, folder))]
        for name, file in files:
            if file is not None:
                _add(digest, name, _sha256(file, is_given_up))
    return digest.hexdigest()


def module_place(name: str) -> Path | None:
    """The folder of a package, or the file of a module, that Python would find; None when there is none."""
    spec = _find_module(name)
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    place = folders[0] if folders else spec.origin
    return Path(place) if place is not None and Path(place).exists() else None


def named_module(words: Sequence[str]) -> str | None:
    """The module that the words ask Python to run (`-m NAME`), if any."""
    index = _module_index(words)
    return None if index is None else words[index]


def _add(digest: "hashlib._Hash", name: str, content: bytes) -> None:
    """Names and lengths go in too, so that no two different lists make the same stream of bytes."""
    digest.update(f"{name}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
    digest.update(content)


def _sha256(file: Path, is_given_up: Callable[[], bool]) -> bytes:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as content:
            while piece := content.read(_PIECE_BYTES):
                if is_given_up():
                    raise CommandError("was not told from other builds: that was given up")
                digest.update(piece)
    except OSError as error:
        raise CommandError(f"cannot be told from other builds: {file}: {error.strerror}") from error
    return digest.digest()


def _file(word: str, folder: Path) -> Path | None:
    """The file that a word names, not resolved any further: a link's own folder may matter to a program."""
    path = os.path.join(folder, word)  # noqa: PTH118 - a Path of any text may fail later, in is_file()
    return Path(os.path.abspath(path)) if os.path.isfile(path) else None  # noqa: PTH100, PTH113


def _module_index(words: Sequence[str]) -> int | None:
    """Where the name of a module stands (`python -m NAME`)."""
    index = words.index("-m") + 1 if "-m" in words else len(words)
    return index if index < len(words) else None


def _module_files(name: str) -> Iterator[tuple[str, Path]]:
    """The source files of a module that the arena's own Python would find, each with a name for it.

    No part of it is run: it is looked up as an import would, but nothing is imported.
    """
    spec = _find_module(name)
    if spec is None:
        return
    for folder in sorted(spec.submodule_search_locations or ()):
        for file in sorted(Path(folder).rglob("*.py")):
            yield file.relative_to(folder).as_posix(), file
    if spec.submodule_search_locations is None and spec.origin is not None and Path(spec.origin).is_file():
        yield name, Path(spec.origin)


def _find_module(name: str) -> ModuleSpec | None:
    spec: ModuleSpec | None = None
    folders: Sequence[str] | None = None
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for count in range(1, len(parts) + 1):
        spec = _ask_finders(".".join(parts[:count]), folders)
        if spec is None:
            return None
        folders = spec.submodule_search_locations or []
    return spec


def _ask_finders(name: str, folders: Sequence[str] | None) -> ModuleSpec | None:
    """What `importlib.util.find_spec` does, but that it would import (run) the package around a module."""
    specs = (finder.find_spec(name, folders, None) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)

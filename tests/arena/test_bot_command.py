import hashlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.bot_command import (
    CommandError,
    absolute_words,
    command_digest,
    find_program,
    module_place,
    named_module,
    search_path,
)

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as that of a tournament file, with two files in it."""
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "my_bot.py").write_text("print('one')\n")
    (tmp_path / "weights.bin").write_bytes(b"\x00\xff")
    return tmp_path


def test_names_of_files_are_made_absolute(folder: Path) -> None:
    """Words that name files beside the tournament file become absolute; options and folders stay."""
    words = ("python", "bots/my_bot.py", "--data", "weights.bin", "bots", "-x", "", "no/such.py")
    python, bot, data, weights, *others = absolute_words(words, folder)
    assert (python, bot) == ("python", f"{folder}/bots/my_bot.py")
    assert (data, weights) == ("--data", f"{folder}/weights.bin")
    assert others == ["bots", "-x", "", "no/such.py"]


def test_a_name_that_climbs_is_made_straight(folder: Path) -> None:
    """`../` in a word is followed from the tournament file's folder."""
    words = ("../weights.bin", str(folder / "weights.bin"))
    assert absolute_words(words, folder / "bots") == (f"{folder}/weights.bin",) * 2


def test_a_module_stays_a_module(folder: Path) -> None:
    """What follows `-m` is no file, even beside a file of that name."""
    (folder / "my_bot").write_text("")
    assert absolute_words(("python", "-m", "my_bot", "my_bot"), folder)[2:] == ("my_bot", f"{folder}/my_bot")


@given(st.lists(WORDS, max_size=4))
def test_any_words_pass_the_search_for_files(words: list[str]) -> None:
    """Words too long or too odd for the name of a file are simply none."""
    folder = Path("/nowhere")
    assert len(absolute_words([*words, "x" * 5000], folder)) == len(words) + 1
    assert len(command_digest([*words, "x" * 5000], folder)) == 64


def test_the_arenas_python_comes_first() -> None:
    """`python` in a command is the Python that the arena runs on."""
    python = Path(sys.executable)
    assert find_program(("python",), search_path()).parent == python.parent
    assert search_path().startswith(f"{python.parent}:")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("no-such-program", "no program no-such-program is installed"),
        ("./my_bot", r"there is no file \./my_bot"),
        ("/no/such/bot", "there is no file /no/such/bot"),
    ],
)
def test_a_program_that_is_not_there_is_named(word: str, said: str) -> None:
    """A command without a program to run is refused with its name, before anything is started."""
    with pytest.raises(CommandError, match=said):
        find_program((word, "x"), search_path())


def test_a_program_must_be_executable(folder: Path) -> None:
    """A source file as the program itself is refused unless it may be executed."""
    program = folder / "bots" / "my_bot.py"
    with pytest.raises(CommandError, match="is not executable"):
        find_program((str(program),), search_path())
    program.chmod(0o755)
    assert find_program((str(program),), search_path()) == program


def test_the_digest_sees_words_and_files(folder: Path) -> None:
    """The digest changes with a word, with a byte of a file, and with the file a word names."""
    words = ("python", "bots/my_bot.py", "weights.bin")
    digests = {
        command_digest(words, folder),
        command_digest((*words, "--fast"), folder),
        command_digest((words[0], words[1] + words[2]), folder),
        command_digest(words, folder / "bots"),
    }
    (folder / "weights.bin").write_bytes(b"\x01\xff")
    digests.add(command_digest(words, folder))
    assert len(digests) == 5


def test_the_digest_is_the_same_in_another_place(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A bot moved with its files keeps its digest; a file's time does not count."""
    other = tmp_path_factory.mktemp("other")
    (folder / "weights.bin").rename(other / "weights.bin")
    (folder / "bots").rename(other / "bots")
    moved = command_digest(("python", "bots/my_bot.py", "weights.bin"), other)
    (other / "bots").rename(folder / "bots")
    (other / "weights.bin").rename(folder / "weights.bin")
    (folder / "weights.bin").touch()
    assert command_digest(("python", "bots/my_bot.py", "weights.bin"), folder) == moved


def test_the_digest_is_sha256(folder: Path) -> None:
    """The digest of a command without files is SHA-256 over its words, each with its length."""
    assert command_digest(("ab", "c"), folder) == hashlib.sha256(b"word\x002\0abword\x001\0c").hexdigest()


def test_a_digest_that_nobody_waits_for_is_given_up(tmp_path: Path) -> None:
    """A file is read no further than to the next look at whether it is wanted, however long it is."""
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(2**40)
    looks = iter([False, False, True])
    with pytest.raises(CommandError, match="given up"):
        command_digest(("python", "weights.bin"), tmp_path, lambda: next(looks))


def test_an_unreadable_file_gets_a_sentence(tmp_path: Path) -> None:
    """A file that is there and cannot be read is named."""
    # Root can read everything but a process's memory at address 0.
    with pytest.raises(CommandError, match="/proc/self/mem: Input/output error"):
        command_digest(("python", "/proc/self/mem"), tmp_path)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that must not be imported, where Python finds it."""
    inner = tmp_path / "untrusted_bot" / "inner"
    inner.mkdir(parents=True)
    for path in (inner.parent, inner):
        (path / "__init__.py").write_text("raise AssertionError('imported')\n")
    (inner / "player.py").write_text("print('one')\n")
    (inner.parent / "other.py").write_text("print('two')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return inner.parent


@pytest.mark.parametrize(
    ("module", "changed", "counts"),
    [
        ("untrusted_bot", "inner/player.py", True),
        ("untrusted_bot", "other.py", True),
        ("untrusted_bot.inner", "inner/__init__.py", True),
        ("untrusted_bot.inner", "other.py", False),
        ("untrusted_bot.inner.player", "inner/player.py", True),
        ("untrusted_bot.inner.player", "other.py", False),
    ],
)
def test_the_digest_sees_a_modules_source(package: Path, module: str, changed: str, counts: bool) -> None:
    """For `-m` the source of the module counts, of a package all of it; none of it is run."""
    words = ("python", "-m", module, "--fast")
    before = command_digest(words, package)
    with (package / changed).open("a") as source:
        source.write("# changed\n")
    assert (command_digest(words, package) != before) is counts


@pytest.mark.parametrize("module", ["", ".", "a..b", "../bots", "no_such_module", "os.no_such", "5"])
def test_a_module_that_is_not_there_counts_as_a_word(module: str, tmp_path: Path) -> None:
    """Whatever follows `-m`, the digest is made; it is the program's to say what it makes of it."""
    assert command_digest(("python", "-m", module), tmp_path) != command_digest(("python", "-m"), tmp_path)


def test_a_modules_place_is_its_folder_or_file(package: Path) -> None:
    """A package's place is its folder, a module's its file; a built-in one has none."""
    assert module_place("untrusted_bot") == package
    assert module_place("untrusted_bot.other") == package / "other.py"
    assert module_place("no_such_module") is None
    assert module_place("sys") is None


def test_the_module_of_a_command_is_found() -> None:
    """The word after `-m` is the module, when there is one."""
    assert named_module(("python", "-m", "my_bot.x", "-m")) == "my_bot.x"
    assert named_module(("python", "x.py")) is None
    assert named_module(("python", "-m")) is None

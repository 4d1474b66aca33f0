"""`kratzen run` up to the moment when the first bot is started: what it refuses, and what it says."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.cli import embedded, run
from arena.cli.embedded import EmbeddedRun, Outcome
from arena.cli.errors import EXIT_BOT_FAULTS, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_TERMINATED, EXIT_USAGE
from arena.faults import FaultCause
from arena.launcher import MAX_RESTARTS, ExitKind
from arena.ledger import Attempt, BotEnd
from arena.results import AttemptEnd
from arena.store import Store, StoreReader
from tests.cli.calling import HEAD, NAMES, TOURNAMENT, Done, bots, finish, kratzen, make_run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A tournament file."""
    (tmp_path / "t.toml").write_text(TOURNAMENT)
    return tmp_path / "t.toml"


class PlayedAtOnce(EmbeddedRun):
    """A run whose first `sessions` are finished in no time, without a bot or a port."""

    sessions = 8
    fault_rate = 0.0
    absent: int | None = None
    outcome = Outcome()
    attempts: tuple[Attempt, ...] = ()

    async def play(self) -> Outcome:
        """Finish sessions, and end as told."""
        assert isinstance(self._store, Store)
        self._store.record_attempts(self.attempts)
        finish(self._store, self.sessions, fault_rate=self.fault_rate, absent=self.absent)
        return self.outcome


def run_at_once(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path, **how: Any) -> Done:  # noqa: ANN401  attributes
    """Call `kratzen run` with the attributes of `PlayedAtOnce`."""
    monkeypatch.setattr(run, "EmbeddedRun", type("Played", (PlayedAtOnce,), how))
    return kratzen("run", *arguments)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tournament", "TOML"),
        (HEAD + bots("anna"), "bots"),
        (TOURNAMENT.replace("seed", "sede"), "sede"),
        (TOURNAMENT.replace("deals = 2", "deals = 'two'"), "session.deals"),
        (TOURNAMENT.replace("normal_failure", "never"), "rules.muss_after"),
        (HEAD + bots("anna", "berta", "clara", "clara"), "clara"),
        (HEAD + bots("anna", "berta", "clara", "../x"), "bots[4].name"),
        (HEAD + bots("anna", "berta", "clara", "dora").replace('"true"', '""'), "bots[1].command"),
    ],
    ids=[
        "TOML",
        "too few bots",
        "unknown key",
        "wrong type",
        "unknown value",
        "a bot twice",
        "name",
        "command",
    ],
)
def test_a_file_that_cannot_be_played_is_told_by_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    """One sentence, exit code 2, nothing on stdout, and no folder is made."""
    (tmp_path / "t.toml").write_text(text)
    done = kratzen("run", tmp_path / "t.toml", "--out", tmp_path / "run")
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert done.err.startswith(f"kratzen: {tmp_path / 't.toml'}: ")
    assert told in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_file_or_folder_that_cannot_be_used_is_told(file: Path, tmp_path: Path) -> None:
    """A missing file, a folder as file, a folder below a plain file, a plain file as folder, no --out."""
    (tmp_path / "plain").write_text("")
    for arguments, told in (
        ((tmp_path / "missing.toml",), "missing.toml: cannot be read"),
        ((tmp_path,), "cannot be read"),
        ((file, "--out", tmp_path / "plain" / "run"), "plain/run cannot be written"),
        ((file, "--out", tmp_path / "plain"), "plain cannot be written"),
        ((file, "--resume"), "--out"),
        ((file, "--resume", "--out", tmp_path / "nothing"), "no folder"),
        ((file, "--address", "nowhere"), "host:port"),
        ((file, "--address", "0.0.0.0:0"), "--insecure"),
        ((file, "--seed", ""), "--seed"),
        ((file, "--seed", "\udcff"), "--seed"),
    ):
        done = kratzen("run", *arguments)
        assert (done.code, done.out) == (EXIT_USAGE, ""), arguments
        assert told in done.err
        assert done.err.startswith("kratzen: ")
        assert len(done.err.splitlines()) == 1


def test_a_folder_with_a_run_in_it_is_not_written_over(file: Path, tmp_path: Path) -> None:
    """The sentence says what can be done."""
    make_run(tmp_path / "run", sessions=1)
    done = kratzen("run", file, "--out", tmp_path / "run")
    assert done.code == EXIT_USAGE
    assert "go on with it by --resume, or choose another folder" in done.err


@pytest.mark.parametrize("resume", [(), ("--resume",)], ids=["again", "resumed"])
def test_a_run_that_failed_before_its_first_session_can_be_called_again(
    resume: tuple[str, ...], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was called before, also when the file was mended meanwhile, and with `--resume`."""
    failed = run_at_once(
        monkeypatch, file, "--out", tmp_path / "run", sessions=0, outcome=Outcome(failure="no such program")
    )
    assert failed.code == EXIT_FAILED
    if not resume:
        file.write_text(TOURNAMENT.replace("dora", "emma"))
    done = run_at_once(monkeypatch, file, "--out", tmp_path / "run", *resume)
    assert done.code == 0
    assert ("dora" if resume else "emma") in done.out


# ------------------------------------------------------------------ plan


def test_a_dry_run_says_what_would_be_played_and_makes_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bots, blocks, sessions and deals; no folder."""
    monkeypatch.chdir(tmp_path)
    done = kratzen("run", file, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "2 blocks, 8 sessions, at most 16 deals" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["t.toml"]


# ------------------------------------------------------------------ going on


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (("seed = 1", "seed = 2"), (), "tournament.seed was 1 and is 2"),
        (("deals = 2", "deals = 3"), (), "session.deals was 2 and is 3"),
        (("dora", "emma"), (), "bots are not the same"),
        (("", ""), ("--seed", "other"), "tournament.seed was 1 and is 'other'"),
        (("", ""), ("--no-timeout",), "clock.timed was True and is False"),
    ],
    ids=["seed", "deals", "bots", "seed option", "no-timeout"],
)
def test_only_the_same_tournament_is_gone_on_with(
    change: tuple[str, str], options: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    """The sentence names the first thing that is another."""
    make_run(tmp_path / "run", sessions=1)
    (tmp_path / "t.toml").write_text(TOURNAMENT.replace(*change))
    done = kratzen("run", tmp_path / "t.toml", "--out", tmp_path / "run", "--resume", *options)
    assert done.code == EXIT_USAGE
    assert told in done.err


def test_the_same_seed_in_other_words_is_the_same(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file's number as an option's text, and a file that leaves its seed to the run."""
    folder = make_run(tmp_path / "run")
    assert run_at_once(monkeypatch, file, "--out", folder, "--resume", "--seed", "1", sessions=0).code == 0
    file.write_text(TOURNAMENT.replace("seed = 1\n", ""))
    assert run_at_once(monkeypatch, file, "--out", folder, "--resume", sessions=0).code == 0


@pytest.mark.parametrize(
    "options",
    [(), ("--seed", "a b"), ("--no-timeout",), ("--strict", "--json"), ("--address", "127.0.0.1:0")],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("signal", "code"),
    [("SIGINT", EXIT_INTERRUPTED), ("SIGTERM", EXIT_TERMINATED)],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_what_an_interrupted_run_says_goes_on_with_it(
    options: tuple[str, ...],
    signal: str,
    code: int,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command that is told is taken as it stands, whatever options the run had."""
    stopped = run_at_once(
        monkeypatch,
        file,
        "--out",
        tmp_path / "a run",
        *options,
        sessions=3,
        outcome=Outcome(signal=signal),
    )
    assert stopped.code == code
    *_, told, last = stopped.err.splitlines()
    assert last == str(tmp_path / "a run")
    start, _, command = told.partition(": ")
    assert start == "5 sessions left; go on with"
    words = shlex.split(command)
    assert words[:2] == ["kratzen", "run"]
    done = run_at_once(monkeypatch, *words[2:], sessions=8)
    assert done.code == 0
    assert "left" not in done.err


@pytest.mark.parametrize("dials_in", [True, False])
def test_what_bots_that_dial_in_need_anew_is_told_with_the_way_to_go_on(
    dials_in: bool, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their tokens, and the port; nothing of it where there are no such bots."""
    if dials_in:
        file.write_text(HEAD + bots(*NAMES[1:]) + f'[[bots]]\nname = "{NAMES[0]}"\n')
    stopped = run_at_once(
        monkeypatch, file, "--out", tmp_path / "run", sessions=3, outcome=Outcome(signal="SIGINT")
    )
    note = (
        "a run that is gone on with gives bots that dial in new tokens, and another port unless --address "
        "names one"
    )
    assert (note in stopped.err.splitlines()) is dials_in


def test_a_run_that_was_interrupted_with_nothing_left_says_nothing_of_going_on(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sessions in flight were the last."""
    done = run_at_once(monkeypatch, file, "--out", tmp_path / "run", outcome=Outcome(signal="SIGINT"))
    assert done.code == EXIT_INTERRUPTED
    assert "--resume" not in done.err


# ------------------------------------------------------------------ how it ends


def test_the_folder_is_told_last_and_the_table_alone_is_on_stdout(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path with a blank stands quoted in the commands."""
    folder = tmp_path / "a run"
    done = run_at_once(monkeypatch, file, "--out", folder)
    assert done.code == 0
    assert done.out.startswith("Leaderboard")
    assert f"kratzen leaderboard '{folder}'" in done.err
    assert done.err.splitlines()[-1] == str(folder)


def test_what_stopped_a_run_is_a_failure(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1 with the reason last, after the way to go on."""
    done = run_at_once(
        monkeypatch, file, "--out", tmp_path / "run", sessions=2, outcome=Outcome(failure="the disk is full")
    )
    assert done.code == EXIT_FAILED
    assert "6 sessions left" in done.err
    assert done.err.splitlines()[-1] == "kratzen: the disk is full"


ABSENT = Attempt(
    block=1,
    session=1,
    attempt=1,
    ending=AttemptEnd.BOTS_ABSENT,
    why="not there: anna, dora",
    started_at="2026-11-29T10:00:00+00:00",
    ended_at="2026-11-29T10:00:01+00:00",
)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({}, 0),
        ({"fault_rate": 0.3}, EXIT_BOT_FAULTS),
        ({"absent": 2}, EXIT_BOT_FAULTS),
        ({"attempts": (ABSENT,)}, EXIT_BOT_FAULTS),
    ],
    ids=["none", "strikes", "forfeits without a strike", "an attempt failed for want of bots"],
)
def test_strict_is_about_every_kind_of_fault(
    how: dict[str, object], code: int, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3 with `--strict` alone."""
    assert run_at_once(monkeypatch, file, "--out", tmp_path / "strict", "--strict", **how).code == code
    assert run_at_once(monkeypatch, file, "--out", tmp_path / "lax", **how).code == 0


def test_faults_are_told_by_bot_and_cause(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often each happened, and the first session in which it can be looked at."""
    done = run_at_once(monkeypatch, file, "--out", tmp_path / "run", absent=2)
    told = [line for line in done.err.splitlines() if "was not there when the join limit was over" in line]
    assert told[0] == "bot anna was not there when the join limit was over: 2 times, first in session 1.1"
    assert len(told) == 4
    assert "bot anna" not in run_at_once(monkeypatch, file, "--out", tmp_path / "well").err


def test_one_fault_is_seen_in_exit_code_and_summary(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bot that was away once of eight times is told once, with its session, and nobody else is (E03)."""

    async def absent_once(self: PlayedAtOnce) -> Outcome:
        assert isinstance(self._store, Store)
        finish(self._store, 1, absent=2)
        finish(self._store, 7)
        return self.outcome

    done = run_at_once(monkeypatch, file, "--out", tmp_path / "run", "--strict", play=absent_once)
    with StoreReader.open(tmp_path / "run") as store:
        first = store.results()[0]
    assert done.code == EXIT_BOT_FAULTS
    (told,) = [line for line in done.err.splitlines() if line.startswith("bot ")]
    assert told.startswith(f"bot {first.seats[2].bot} was not there when the join limit was over: 1 time, ")
    assert told.endswith(f", first in session {first.block}.{first.session}")


def test_void_sessions_are_told(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are neither rated nor averaged, and whoever reads the table knows."""
    folder = make_run(tmp_path / "run", sessions=3)
    with Store.open(folder) as store:
        store.withdraw("anna", "anna went home")
    done = run_at_once(monkeypatch, file, "--out", folder, "--resume", sessions=0)
    assert "5 of 8 sessions void" in done.err


def test_bots_that_were_given_up_stay_so_when_a_run_is_gone_on_with(file: Path, tmp_path: Path) -> None:
    """They are not started once more, forfeit what is left, and the report counts the ends of all runs."""
    folder = make_run(tmp_path / "run", sessions=7)
    with Store.open(folder) as store:
        for name in NAMES:
            for code in range(MAX_RESTARTS + 1):
                end = BotEnd(bot=name, kind=ExitKind.EXITED, sentence=f"exited with code {code}")
                store.record_bot_end(end, "2026-11-29T10:00:00+00:00")
    done = kratzen("run", file, "--out", folder, "--resume")
    assert done.code == 0
    assert "bot dora ended 4 times and is not started again: it exited with code 3; its log" in done.err
    assert "the last that" not in done.err
    assert not (folder / "logs").exists()
    with StoreReader.open(folder) as reader:
        faults = [fault for seat in reader.results()[-1].seats for fault in seat.faults]
    assert [(fault.cause, fault.detail) for fault in faults] == [
        (FaultCause.EXITED, "exited with code 3")
    ] * len(NAMES)


def test_failed_attempts_are_told_by_their_reason() -> None:
    """Each reason once, with its slots; a stop needs no reason beside it."""
    stopped = replace(ABSENT, session=2, ending=AttemptEnd.OPERATOR_STOP, why="the arena was stopped")
    assert embedded._failures([ABSENT, replace(ABSENT, attempt=2), stopped]) == [
        f"2 attempts without a result (1.1): {AttemptEnd.BOTS_ABSENT.sentence[:-1]} (not there: anna, dora).",
        f"1 attempt without a result (1.2): {AttemptEnd.OPERATOR_STOP.sentence}",
    ]

"""The link of a bot to the arena, over real gRPC on loopback."""

import asyncio
from pathlib import Path

import grpc
import pytest

from arena.messages import Answers, Goodbye, GoodbyeReason, Hello, Leave, Request
from engine.actions import Action
from kratzen.sdk import Request as Asked
from kratzen.sdk import client
from kratzen.sdk.client import End, Settings, SettingsError, play, run, settings_from
from kratzen.sdk.conversation import Conversation
from kratzen.v1 import bot_pb2
from tests.sdk.fake_arena import TOKEN, FakeArena, Line
from tests.sdk.scripted import WELCOME, Diary, rejection_of, request_of, response, start_of

ROOTS = b"-----BEGIN CERT" + b"IFICATE-----"
FINISHED = Goodbye(GoodbyeReason.FINISHED, come_back=False, detail="all is played")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dialling again takes no time here."""
    monkeypatch.setattr(client, "FIRST_DELAY_S", 0.0)


async def answers_of(line: Line) -> list[tuple[str, int]]:
    """What the bot answers in its next message."""
    message = await line.read()
    assert isinstance(message, Answers)
    return [(answer.session_id, answer.request_id) for answer in message.answers]


async def finish(line: Line) -> None:
    """A short stay."""
    assert isinstance(await line.read(), Hello)
    await line.send(WELCOME, FINISHED)


async def test_a_bot_plays_until_there_is_no_more() -> None:
    """Hello, a session, an answer, a rejection, another answer, goodbye."""

    async def script(line: Line) -> None:
        assert line.authorization == f"Bearer {TOKEN}"
        hello = await line.read()
        assert isinstance(hello, Hello)
        assert (hello.protocol_version, hello.bot_name) == (1, "diary")
        await line.send(WELCOME, start_of("s1"), request_of("s1", 1))
        assert await answers_of(line) == [("s1", 1)]
        await line.send(rejection_of("s1", 1, 2))
        assert await answers_of(line) == [("s1", 1)]
        await line.send(FINISHED)

    async with FakeArena(script) as arena:
        end = await play(Diary(), arena.settings)
        await arena.settled()
    assert end == End(again=False, well=True, sentence="all is played")


async def test_a_bot_that_leaves_says_goodbye_once_on_every_stream() -> None:
    """It comes after the next answer; the sessions that it sits in are played out."""

    class Leaver(Diary):
        def decide(self, request: Asked) -> Action | tuple[Action, str]:
            self.leave()
            return super().decide(request)

    async def breaks(line: Line) -> None:
        assert isinstance(await line.read(), Hello)
        await line.send(WELCOME, start_of("s1"), request_of("s1", 1))
        assert await answers_of(line) == [("s1", 1)]
        assert isinstance(await line.read(), Leave)
        await line.send(request_of("s1", 2))
        assert await answers_of(line) == [("s1", 2)]
        await line.abort(grpc.StatusCode.UNAVAILABLE, "back soon")

    async def again(line: Line) -> None:
        assert isinstance(await line.read(), Hello)
        await line.send(WELCOME, start_of("s1"))
        assert isinstance(await line.read(), Leave)
        await line.send(Goodbye(GoodbyeReason.LEFT, come_back=False, detail="as you like"))

    async with FakeArena(breaks, again) as arena:
        end = await play(Leaver(), arena.settings)
        await arena.settled()
    assert end == End(again=False, well=True, sentence="as you like")


def three_requests() -> list[Request]:
    """A decision in each of three sessions."""
    return [request_of(session_id, 1) for session_id in ("s1", "s2", "s3")]


async def answer_messages(count: int) -> list[list[tuple[str, int]]]:
    """In which messages three requests that came together are answered."""
    messages: list[list[tuple[str, int]]] = []

    async def script(line: Line) -> None:
        await line.read()
        await line.send(WELCOME, start_of("s1"), start_of("s2"), start_of("s3"), *three_requests())
        messages.extend([await answers_of(line) for _ in range(count)])
        await line.send(FINISHED)

    async with FakeArena(script) as arena:
        await play(Diary(), arena.settings)
        await arena.settled()
    return messages


async def test_requests_that_come_together_are_answered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick decisions on one message go back as one message."""
    monkeypatch.setattr(client, "HOLD_S", 60.0)
    assert await answer_messages(1) == [[("s1", 1), ("s2", 1), ("s3", 1)]]


async def test_answers_do_not_wait_for_slow_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a decision takes longer than answers may wait, each goes back at once."""
    monkeypatch.setattr(client, "HOLD_S", -1.0)
    assert await answer_messages(3) == [[("s1", 1)], [("s2", 1)], [("s3", 1)]]


async def test_a_message_of_answers_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """More answers than are sure to fit into a message go in several."""
    monkeypatch.setattr(client, "HOLD_S", 60.0)
    monkeypatch.setattr(client, "MAX_ANSWERS_A_MESSAGE", 2)
    assert await answer_messages(2) == [[("s1", 1), ("s2", 1)], [("s3", 1)]]


def test_the_longest_message_of_answers_fits() -> None:
    """The limit of answers a message keeps it below what the arena takes, whatever the notes."""
    longest = Diary(lambda request: (next(iter(request.legal)), "♥" * 300))
    conversation = Conversation(longest)
    ids = [f"{number:032}" for number in range(client.MAX_ANSWERS_A_MESSAGE)]
    conversation.take(response(WELCOME, *map(start_of, ids), *[request_of(i, 10**6) for i in ids]), 0.0)
    answers = [conversation.answer_next() for _ in ids]
    message = bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=answers))
    assert message.ByteSize() <= WELCOME.max_message_bytes


async def test_a_lost_link_is_dialled_again(capsys: pytest.CaptureFixture[str]) -> None:
    """After a stream that broke the bot says Hello on another, and answers what is open."""

    async def breaks(line: Line) -> None:
        await line.read()
        await line.send(WELCOME, start_of("s1"))
        await line.abort(grpc.StatusCode.UNAVAILABLE, "back soon")

    async def goes_on(line: Line) -> None:
        await line.read()
        await line.send(WELCOME, start_of("s1"), request_of("s1", 1))
        assert await answers_of(line) == [("s1", 1)]
        await line.send(FINISHED)

    diary = Diary()
    async with FakeArena(breaks, breaks, goes_on) as arena:
        end = await play(diary, arena.settings)
        await arena.settled()
    assert end.well
    assert diary.entries == ["started s1", "decide s1 1"]
    said = capsys.readouterr().err
    assert said == f"diary: no arena at {arena.settings.address}: back soon; trying again\n"


@pytest.mark.parametrize(
    ("said", "roots", "told"),
    [
        ("...: Connection refused", None, "nothing listens there"),
        ("...: Domain name not found]", None, "there is no host of that name"),
        (
            "...: Socket closed",
            None,
            "it ended the link without a word, as one with TLS does: KRATZEN_CA names",
        ),
        ("...: Socket closed", ROOTS, "...: Socket closed"),
        ("...:WRONG_VERSION_NUMBER: ...", ROOTS, "it does not speak TLS, and KRATZEN_CA asks for it"),
        ("...:CERTIFICATE_VERIFY_FAILED: ...", ROOTS, "its certificate is not among those of KRATZEN_CA"),
    ],
)
def test_why_there_is_no_link_is_told_in_words(said: str, roots: bytes | None, told: str) -> None:
    """Whoever has forgotten the certificate, or brings one that is not needed, is told so."""
    end = client._end_by_status(grpc.StatusCode.UNAVAILABLE, said, Settings("arena:1", TOKEN, roots))
    assert (end.again, end.well) == (True, False)
    assert end.sentence.startswith(f"no arena at arena:1: {told}")


async def test_a_goodbye_may_ask_to_come_back() -> None:
    """An arena that stops for a moment finds its bots again."""

    async def stops(line: Line) -> None:
        await line.read()
        await line.send(WELCOME, Goodbye(GoodbyeReason.STOPPING, come_back=True, detail="restart"))
        await line.abort(grpc.StatusCode.UNAVAILABLE, "restart")

    async with FakeArena(stops, finish) as arena:
        assert (await play(Diary(), arena.settings)).well
        await arena.settled()


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.ABORTED,
    ],
)
async def test_a_refusal_is_final(code: grpc.StatusCode) -> None:
    """What another try would not change ends the bot, with the arena's sentence."""

    async def refuses(line: Line) -> None:
        await line.abort(code, "no, and this is why")

    async with FakeArena(refuses) as arena:
        end = await play(Diary(), arena.settings)
    assert end == End(again=False, well=False, sentence=f"{code.name}: no, and this is why")


async def test_being_replaced_is_final() -> None:
    """Two processes with one token do not fight: the one that was replaced ends."""

    async def replaces(line: Line) -> None:
        await line.read()
        goodbye = Goodbye(GoodbyeReason.REPLACED, come_back=False, detail="another took over")
        await line.send(WELCOME, goodbye)
        await line.abort(grpc.StatusCode.ABORTED, "another took over")

    async with FakeArena(replaces) as arena:
        end = await play(Diary(), arena.settings)
    assert end == End(again=False, well=False, sentence="another took over")


async def delays(monkeypatch: pytest.MonkeyPatch, count: int) -> list[float]:
    """How long a bot waits before each call, at an arena that it reaches not even once."""
    ends = [End(again=True, well=False, sentence="not yet")] * count
    ends.append(End(again=False, well=True, sentence="all is played"))
    waited: list[float] = []

    async def play_one_stream(*_: object) -> End:
        return ends.pop(0)

    async def sleep(delay_s: float) -> None:
        waited.append(delay_s)

    with monkeypatch.context() as patched:
        patched.setattr(client, "play_one_stream", play_one_stream)
        patched.setattr(asyncio, "sleep", sleep)
        await play(Diary(), Settings("127.0.0.1:1", TOKEN))
    return waited


async def test_bots_come_back_ever_later_and_not_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time twice as long up to a limit, and by chance up to half of that earlier (G20)."""
    monkeypatch.setattr(client, "FIRST_DELAY_S", 0.1)
    longest_s = [min(0.1 * 2**number, client.LONGEST_DELAY_S) for number in range(8)]
    first, second = await delays(monkeypatch, 8), await delays(monkeypatch, 8)
    for waited in (first, second):
        assert all(limit_s / 2 <= s <= limit_s for s, limit_s in zip(waited, longest_s, strict=True))
    assert not set(first) & set(second)


async def test_a_stream_that_just_ends_is_an_end() -> None:
    """An arena that closes the stream in good order has no more to play."""

    async def ends(line: Line) -> None:
        await line.read()

    async with FakeArena(ends) as arena:
        assert (await play(Diary(), arena.settings)).well


async def test_what_a_bot_raises_ends_it() -> None:
    """A mistake in `decide` comes out of the client, and the stream is ended."""

    def fail(request: Asked) -> Action:
        raise ZeroDivisionError

    gone = asyncio.Event()

    async def script(line: Line) -> None:
        await line.read()
        await line.send(WELCOME, start_of("s1"), request_of("s1", 1))
        try:
            await line.read()
        finally:
            gone.set()

    async with FakeArena(script) as arena:
        with pytest.raises(ZeroDivisionError):
            await play(Diary(fail), arena.settings)
        await gone.wait()
        with pytest.raises((asyncio.CancelledError, StopAsyncIteration)):
            await arena.settled()


async def test_proxies_are_kept_off_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment does not catch a link to this machine."""
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    async with FakeArena(finish) as arena:
        assert (await play(Diary(), arena.settings)).well


@pytest.mark.parametrize("name", ["grpc_proxy", "https_proxy", "http_proxy"])
def test_a_proxy_that_was_in_between_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a link goes by a proxy and does not come about, the variable that names it is told (G14)."""
    for each in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(each, raising=False)
    refused = (grpc.StatusCode.UNAVAILABLE, "...: Connection refused")
    direct = client._end_by_status(*refused, Settings("arena:1", TOKEN)).sentence
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    by_proxy = client._end_by_status(*refused, Settings("arena:1", TOKEN)).sentence
    local = client._end_by_status(*refused, Settings("127.0.0.1:1", TOKEN)).sentence
    other = client._end_by_status(
        grpc.StatusCode.UNAUTHENTICATED, "who?", Settings("arena:1", TOKEN)
    ).sentence
    assert by_proxy == f"{direct} (by the proxy that {name} names)"
    assert "proxy" not in direct + local + other


async def test_a_dead_proxy_is_told_by_the_variable_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot that dials another machine by a proxy where nobody listens says so itself (G14)."""
    for each in ("grpc_proxy", "https_proxy", "no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    said: list[str] = []
    told = asyncio.Event()

    def say(line: str) -> None:
        said.append(line)
        told.set()

    monkeypatch.setattr(client, "_say", say)
    playing = asyncio.create_task(play(Diary(), Settings("arena.example:7373", TOKEN)))
    await told.wait()
    playing.cancel()
    await asyncio.wait([playing])
    assert said[0] == (
        "diary: no arena at arena.example:7373: nothing listens there (by the proxy that http_proxy names); "
        "trying again"
    )


async def test_an_arena_behind_a_socket_is_reached(tmp_path: Path) -> None:
    """The address may be a Unix socket's."""
    arena = FakeArena(finish)
    address = f"unix:{tmp_path}/arena"
    arena.listen(address)
    async with arena:
        assert (await play(Diary(), Settings(address, TOKEN))).well


# ------------------------------------------------------------------ settings


def test_the_environment_says_where_and_who(tmp_path: Path) -> None:
    """Address, token and trusted certificates are read from three variables."""
    roots = tmp_path / "ca.pem"
    roots.write_bytes(ROOTS)
    environment = {"KRATZEN_ADDRESS": "arena:7777", "KRATZEN_TOKEN": TOKEN, "KRATZEN_CA": str(roots)}
    assert settings_from(environment) == Settings("arena:7777", TOKEN, ROOTS)
    del environment["KRATZEN_CA"]
    assert settings_from(environment) == Settings("arena:7777", TOKEN, None)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "KRATZEN_ADDRESS is not set"),
        ({"KRATZEN_ADDRESS": "arena:7777"}, "KRATZEN_TOKEN is not set"),
        (
            {"KRATZEN_ADDRESS": "a:1", "KRATZEN_TOKEN": TOKEN, "KRATZEN_CA": "/nowhere/ca.pem"},
            "KRATZEN_CA = /nowhere/ca.pem: No such file or directory",
        ),
        (
            {"KRATZEN_ADDRESS": "a:1", "KRATZEN_TOKEN": TOKEN, "KRATZEN_CA": __file__},
            r"KRATZEN_CA = \S+: there is no certificate \(PEM\) in this file",
        ),
    ],
)
def test_what_is_missing_is_named(environment: dict[str, str], said: str) -> None:
    """The sentence names the variable."""
    with pytest.raises(SettingsError, match=said):
        settings_from(environment)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1:7777", True),
        ("localhost:7777", True),
        ("[::1]:7777", True),
        ("unix:/tmp/arena", True),
        ("arena.example:7777", False),
        ("10.0.0.1:127", False),
    ],
)
def test_what_is_on_this_machine(address: str, local: bool) -> None:
    """Only links within the machine go without a proxy."""
    assert Settings(address, TOKEN).is_local is local


def test_the_token_is_never_shown() -> None:
    """A settings value can be logged."""
    assert TOKEN not in repr(Settings("arena:7777", TOKEN))


# ------------------------------------------------------------------ run


def outcome_of_run(monkeypatch: pytest.MonkeyPatch, end: End | None = None) -> int:
    """The exit code of a bot whose play ends like that (None: by Ctrl-C); 0 for a plain return."""

    async def fake_play(bot: Diary, settings: Settings) -> End:
        if end is None:
            raise KeyboardInterrupt
        return end

    monkeypatch.setattr(client, "play", fake_play)
    monkeypatch.setenv("KRATZEN_ADDRESS", "127.0.0.1:1")
    monkeypatch.setenv("KRATZEN_TOKEN", TOKEN)
    try:
        run(Diary())
    except SystemExit as exited:
        return int(str(exited.code))
    return 0


def test_run_returns_when_all_is_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A good end is silent."""
    assert outcome_of_run(monkeypatch, End(again=False, well=True, sentence="all is played")) == 0
    assert capsys.readouterr().err == ""


def test_run_says_why_it_could_not_play(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refusal is one line and exit code 1."""
    assert outcome_of_run(monkeypatch, End(again=False, well=False, sentence="UNAUTHENTICATED: who?")) == 1
    assert capsys.readouterr().err == "diary: UNAUTHENTICATED: who?\n"


def test_run_ends_at_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is exit code 130 without a traceback."""
    assert outcome_of_run(monkeypatch) == 130


def test_run_without_an_environment_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing variable is one line and exit code 2."""
    monkeypatch.delenv("KRATZEN_ADDRESS", raising=False)
    with pytest.raises(SystemExit) as exited:
        run(Diary())
    assert exited.value.code == 2
    assert capsys.readouterr().err.startswith("diary: KRATZEN_ADDRESS is not set")

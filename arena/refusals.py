"""Why an arena does not do what an organiser asks: a closed list of kinds, and the error that carries one."""

from enum import StrEnum


class Refusal(StrEnum):
    """What kind of reason there is against what was asked."""

    BAD_INPUT = "bad_input"
    UNKNOWN = "unknown"
    ALREADY = "already"
    NOT_NOW = "not_now"
    TOO_SLOW = "too_slow"


class RefusedError(Exception):
    """What was asked is not done; the message says in one sentence why, and what can be done."""

    def __init__(self, refusal: Refusal, sentence: str) -> None:
        super().__init__(sentence)
        self.refusal = refusal

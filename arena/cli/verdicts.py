"""What a check finds, printed as it comes: a line or more a verdict, or one JSON document at the end."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from rich.markup import escape as escape_markup

from arena.cli.errors import EXIT_FAILED
from arena.cli.output import print_json
from arena.cli.tables import console_for_data
from arena.status import Verdict
from arena.text import escape

_MARKS: Final = {
    (False, True): "[green]pass[/green]",
    (False, False): "[red]FAIL[/red]",
    (True, False): "    ",
}
"""By whether a step was skipped, and whether it was passed."""


class VerdictReport:
    """The verdicts of one check."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._verdicts: list[Verdict] = []
        self._console = console_for_data()

    @property
    def is_empty(self) -> bool:
        """Whether no verdict has come yet."""
        return not self._verdicts

    @property
    def has_passed(self) -> bool:
        """Whether no step has failed so far."""
        return all(verdict.passed for verdict in self._verdicts)

    def add(self, verdict: Verdict) -> None:
        """Take in a verdict, and print it unless all are to be one document."""
        self._verdicts.append(verdict)
        if self.as_json:
            return
        mark = _MARKS[verdict.skipped, verdict.passed]
        self._print(f"{mark}  {escape_markup(escape(f'{verdict.step:<17} {verdict.sentence}'))}")
        for line in verdict.evidence:
            self._print(f"      {escape_markup(escape(line))}")

    def close(self, stderr: Sequence[str] = ()) -> int:
        """Print the document, if that is wanted; the exit code. `stderr` is the last that the bot printed."""
        if self.as_json:
            steps = [asdict(verdict) for verdict in self._verdicts]
            document = {"passed": self.has_passed, "steps": steps, "stderr": list(stderr)}
            print_json(document)
        return 0 if self.has_passed else EXIT_FAILED

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)

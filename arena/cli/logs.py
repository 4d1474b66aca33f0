"""Where the arena's own log goes: JSON lines in files of bounded size, one redaction for all of them."""

import logging
import re
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

import structlog
from structlog.typing import EventDict, WrappedLogger

from arena.auth import TOKEN_PREFIX

LOG_NAME: Final = "arena.log"
LOG_MIB: Final = 8
"""A log of this size becomes `arena.log.1`, and a new one is begun."""
KEPT_LOGS: Final = 2
"""How many such files are kept besides the one that is written to."""

_LOGGER: Final = "kratzen"
_TOKEN: Final = re.compile(re.escape(TOKEN_PREFIX) + r"[A-Za-z0-9_-]+")

_RENDER = structlog.processors.JSONRenderer()


class LogFile(RotatingFileHandler):
    """The log's file; one that cannot be written, as on a full disk, stops no tournament."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """Lose the line."""

    def close(self) -> None:
        """Let go of the file, and of what it did not take."""
        with suppress(OSError):
            super().close()


def log_to(folder: Path) -> None:
    """Send the log to `arena.log` in a folder, which is appended to."""
    file = LogFile(folder / LOG_NAME, maxBytes=LOG_MIB * 2**20, backupCount=KEPT_LOGS, encoding="utf-8")
    logger = logging.getLogger(_LOGGER)
    for former in logger.handlers[:]:
        logger.removeHandler(former)
        former.close()
    logger.addHandler(file)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_tokens,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: logger,
    )


def _without_tokens(logger: WrappedLogger, method: str, event: EventDict) -> str:
    """The line of an event, with whatever looks like a token masked, however deep in it that is."""
    return _TOKEN.sub(TOKEN_PREFIX + "…", str(_RENDER(logger, method, event)))

"""Where the arena's own log goes: JSON lines in a file, one redaction for all of them."""

import logging
import re
from pathlib import Path

import structlog
from structlog.typing import EventDict, WrappedLogger

from arena.auth import TOKEN_PREFIX

_TOKEN = re.compile(re.escape(TOKEN_PREFIX) + r"[A-Za-z0-9_-]+")


def log_to(file: Path) -> None:
    """Send the log to a file, which is appended to."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_tokens,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=file.open("a", encoding="utf-8")),
    )


def _without_tokens(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Mask whatever looks like a token."""
    del logger, method
    return {
        key: _TOKEN.sub(TOKEN_PREFIX + "…", value) if isinstance(value, str) else value
        for key, value in event.items()
    }

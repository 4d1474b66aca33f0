"""The arena's own log, for as long as a test is about it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from arena.cli.logs import log_to


@contextmanager
def logging_to(folder: Path) -> Iterator[None]:
    """Log to `arena.log` in a folder; afterwards the log goes where it went before."""
    log_to(folder)
    try:
        yield
    finally:
        log_nowhere()


def log_nowhere() -> None:
    """Let go of the log's file; later tests log as they did before."""
    structlog.reset_defaults()
    logger = logging.getLogger("kratzen")
    while logger.handlers:
        handler = logger.handlers[0]
        logger.removeHandler(handler)
        handler.close()

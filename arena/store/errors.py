"""What the store refuses or cannot do, each error one sentence for people."""


class StoreError(Exception):
    """The root of what the store raises; what was stored before is untouched."""


class StoreLockedError(StoreError):
    """Another arena writes to the same folder."""


class StoreConflictError(StoreError):
    """A second, different result for a slot that has one, or a result for a void slot."""


class DamagedFrameError(StoreError):
    """A session's replay is not in its file as it was stored; names part and session."""

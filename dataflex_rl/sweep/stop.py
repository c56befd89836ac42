"""Why a launch ended before its last run."""

from __future__ import annotations

from enum import Enum


class Stop(Enum):
    """Why a launch ended before its last run, as it is said."""

    INTERRUPTED = "interrupted"
    TAKEN_OVER = "another launcher has taken the sweep over"
    CANCELLED = "cancelled"
    FAIL_FAST = "fail_fast: a run has failed for good"
    NO_LOOK = "a look could not be taken"

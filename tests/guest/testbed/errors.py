"""Expected failures: printed as one line, never as a traceback."""

from __future__ import annotations


class TestbedError(Exception):
    """Something outside the code under test went wrong: says what, and what to do."""

    __test__ = False

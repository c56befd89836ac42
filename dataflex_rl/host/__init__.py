"""The only code that knows verl and transfer_queue.

Importing this package imports verl first: verl loads our plugin, which imports the modules here to register them, and
that must not happen while one of them is half imported.
"""

import warnings

from dataflex_rl.quiet import mute_missing_engines

with warnings.catch_warnings():
    mute_missing_engines()
    import verl  # noqa: F401

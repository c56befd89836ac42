"""The only code that knows verl and transfer_queue.

Importing this package imports verl first: verl loads our plugin, which imports the modules here to register them, and
that must not happen while one of them is half imported.
"""

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message=".* engine is not available.*")  # of engines that nobody asked for
    import verl  # noqa: F401

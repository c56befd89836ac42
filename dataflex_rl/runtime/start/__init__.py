"""Starting a run on this machine in seconds: workers forked from a process that has imported everything, a small Ray.

Importing verl takes nine seconds of CPU, and a run needs nine processes that have done so. The *worker server* imports
once and forks; a *stand-in* takes the place of the Python interpreter wherever a process of a run is started, and asks
the server for a fork. Where the server is gone or cannot serve a request, the stand-in becomes the real interpreter:
the process starts cold, with equal results.

- server     imports, listens, forks
- standin    what runs in place of `python`: hands over its arguments, environment and files, and waits
- become     what a forked process does to be the process that was asked for
- instance   Ray's private instance with the parts that a run uses, no others

The owner's side (start, stop, one server for many runs) is `dataflex_rl.runtime.start.owner`.
"""

"""dataflex_rl: which data should an RLVR model learn from, and how strongly?

Legend of the shape suffixes used in every module: B responses in the batch, P prompts, G responses per prompt, N real
and masked response tokens of a jagged batch laid end to end (offsets in `offset_B1`, B + 1 entries), D domains.
A name without a suffix is a scalar.
"""

__version__ = "0.1.0"

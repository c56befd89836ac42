"""How long a response to each evaluated item may be: its own limit, never above the run's."""

from __future__ import annotations

from collections.abc import Sequence

_COLUMN, _FIELD = "extra_info", "max_new_tokens"


def item_limits(files: str | Sequence[str], longest: int) -> list[int]:
    """Return the token limit of each row of parquet files, in order; `longest` for rows without one of their own."""
    import pyarrow.parquet as pq

    limits: list[int] = []
    for file in [files] if isinstance(files, str) else files:
        with pq.ParquetFile(file) as table:
            names = table.schema_arrow.names
            rows = table.read(columns=[_COLUMN]).column(_COLUMN).to_pylist() if _COLUMN in names else []
            limits += [min((row or {}).get(_FIELD) or longest, longest) for row in rows]
            limits += [longest] * (table.metadata.num_rows - len(rows))
    return limits

"""The prompts of a run as arrays: identity, domain, buckets and columns of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dataflex_rl.errors import ConfigError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, kw_only=True)
class PromptTable:
    """P distinct prompts of R dataset rows; prompt i is the one with the i-th smallest key, whatever the row order.

    `prompt_R`: prompt of each row (rows with the same content are one prompt). `domain_P`: index into `domains`,
    `bucket_P`: index of the prompt's bucket, the prompts of one domain that agree in every bucket column; `domain_K`:
    domain of each bucket. `columns`: one value per prompt. Where rows of one prompt disagree, the first row counts.
    """

    prompt_R: IntArray
    key_P: npt.NDArray[np.uint64]
    domains: tuple[str, ...]
    domain_P: npt.NDArray[np.int32]
    bucket_P: npt.NDArray[np.int32]
    domain_K: IntArray
    buckets: tuple[str, ...]
    columns: Mapping[str, npt.NDArray[Any]]
    _levels: dict[str, tuple[FloatArray, IntArray]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Number of distinct prompts P."""
        return len(self.key_P)

    @cached_property
    def size_D(self) -> IntArray:
        """int64 [D]: prompts of each domain."""
        return np.bincount(self.domain_P, minlength=len(self.domains))

    @classmethod
    def of(
        cls,
        keys: Sequence[str],
        domains: Sequence[str],
        columns: Mapping[str, Sequence[Any]] | None = None,
        buckets: Sequence[str] = (),
    ) -> PromptTable:
        """Build from one entry per dataset row; `buckets` names the columns that divide a domain into buckets.

        Raises:
            ConfigError: no rows, ragged columns, or an unknown bucket column.
        """
        columns = columns or {}
        for name, values in [("domain", domains), *columns.items()]:
            if len(values) != len(keys):
                raise ConfigError(f"column {name!r} has {len(values)} values for {len(keys)} prompts")
        if not len(keys):
            raise ConfigError("a prompt selector needs prompts, got none")
        if unknown := [name for name in buckets if name not in columns]:
            raise ConfigError(
                f"dataflex.prompts.buckets names the column {unknown[0]!r}; the data has {_listed(columns)}"
            )
        number_R = np.fromiter((key_number(key) for key in keys), dtype=np.uint64, count=len(keys))
        key_P, first_P, prompt_R = np.unique(number_R, return_index=True, return_inverse=True)
        names, domain_R = np.unique(np.asarray(domains, dtype=object).astype(str), return_inverse=True)
        chosen = {name: np.asarray(values)[first_P] for name, values in columns.items()}
        codes = [domain_R[first_P], *(np.unique(chosen[name].astype(str), return_inverse=True)[1] for name in buckets)]
        row_K, bucket_P = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
        return cls(
            prompt_R=prompt_R.astype(np.int64),
            key_P=key_P,
            domains=tuple(names.tolist()),
            domain_P=codes[0].astype(np.int32),
            bucket_P=bucket_P.reshape(-1).astype(np.int32),
            domain_K=row_K[:, 0].astype(np.int64),
            buckets=tuple(buckets),
            columns=chosen,
        )

    def number(self, who: str, column: str) -> FloatArray:
        """float64 [P]: a numeric column.

        Raises:
            ConfigError: no such column, or a value that is no finite number; names `who` asked.
        """
        value_P = self.column(who, column)
        try:
            number_P = value_P.astype(np.float64)
        except (TypeError, ValueError):
            number_P = np.full(len(value_P), np.nan)
        if not np.isfinite(number_P).all():
            bad = value_P[~np.isfinite(number_P)][0]
            raise ConfigError(f"{who} needs numbers in the column {column!r}, but it has {bad!r}")
        return number_P

    def levels(self, who: str, column: str) -> tuple[FloatArray, IntArray]:
        """float64 [L], int64 [P]: the distinct values of a numeric column, smallest first, and which a prompt has.

        Raises:
            ConfigError: as `number`.
        """
        if column not in self._levels:
            level_L, level_P = np.unique(self.number(who, column), return_inverse=True)
            self._levels[column] = (level_L, level_P.astype(np.int64))
        return self._levels[column]

    def column(self, who: str, column: str) -> npt.NDArray[Any]:
        """[P]: a column as it is; ConfigError where there is none."""
        if column not in self.columns:
            raise ConfigError(f"{who} needs the column {column!r}; the data has {_listed(self.columns)}")
        return self.columns[column]

    def fingerprint(self) -> str:
        """Return 16 hex digits over keys, domains, buckets and columns: what a saved state must agree with."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=8, person=b"dataflex_rl.tabl")
        for part in (self.key_P, self.domain_P, self.bucket_P):
            digest.update(np.ascontiguousarray(part).tobytes())
        texts = [self.domains, *([name, *map(str, value_P.tolist())] for name, value_P in sorted(self.columns.items()))]
        for text in texts:
            digest.update("\0".join(text).encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()


def key_number(key: str) -> int:
    """Return a prompt's key as an integer below 2**64: its 16 hex digits, else a hash of the name."""
    if _KEY.fullmatch(key):
        return int(key, 16)
    text = key.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8, person=b"dataflex_rl.name").digest(), "big")


def _listed(columns: Mapping[str, Any]) -> str:
    return ", ".join(sorted(columns)) or "no column besides prompt and domain"

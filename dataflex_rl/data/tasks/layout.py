"""Which files of a local folder are a dataset's configuration and split, by what their names say.

A name says a split as the hub's own reader takes it: `train`, `validation`, `test` or one of their usual other names as
a word of a file or a folder, the innermost one counts. A folder is read as the hub would read it, or refused by naming
its files; what is left out is named too. A name that says nothing is taken only where no other says anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from dataflex_rl.data.tasks.folder import home
from dataflex_rl.errors import ConfigError

SUFFIXES = (".parquet", ".jsonl", ".json", ".csv")
_OTHERS = (".gz", ".zst", ".xz", ".bz2", ".zip", ".tar", ".lz4", ".arrow", ".feather", ".tsv", ".xlsx", ".ndjson",
           ".orc", ".pkl")  # rows, but not read  # fmt: skip
_METADATA = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json")
_NAMES_OF_SPLITS = {
    "train": ("train", "training", "trn"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "tst", "eval", "evaluation"),
}
_NEUTRAL = ("data", "default", "")  # folders that name no configuration
_SHARD = re.compile(r"^(.*)[-_](\d+)[-_]of[-_](\d+)$")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # of names in camel case as well
_GLUED = re.compile(r"(set|sets|data|split|file|files|part|rows)$")  # "trainset" says "train"


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A public dataset: repository, configurations, split, revision, and whether its owner asks for a consent first.

    splits: where rows come from several splits, in place of `split`. also: other words by which files name one of them.
    sole: the hub has no other split, so that its name says nothing of what the rows are for.
    """

    repo: str
    split: str
    configs: tuple[str | None, ...] = (None,)
    splits: tuple[str, ...] = ()
    also: tuple[tuple[str, str], ...] = ()
    revision: str = "main"
    gated: bool = False
    sole: bool = False

    def parts(self) -> list[tuple[str | None, str]]:
        """Return every (configuration, split) to read, in order."""
        return [(config, split) for config in self.configs for split in (self.splits or (self.split,))]

    def kinds(self) -> set[str]:
        """Return which of train, validation and test it declares, as a split or as a configuration."""
        return {kind for config, split in self.parts() for word in (config, split) if (kind := kind_of(word or ""))}


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The files to read, in order, and {file relative to the source: why it is not read}."""

    files: list[Path]
    left_out: dict[str, str]


def kind_of(word: str) -> str | None:
    """Return train, validation or test for a name of such a split, else None."""
    return next((kind for kind, names in _NAMES_OF_SPLITS.items() if word.strip().casefold() in names), None)


def choose(name: str, remote: Remote, source: str) -> Chosen:
    """Return which files of a path hold the declared configuration and split of a dataset.

    The path itself, where it is a file; else, in it, `<name>.<suffix>` with or without a split in its name
    (`<name>_test.jsonl`), or the folder `<name>` with everything below it.

    Raises:
        ConfigError: no such file; files that name several splits and none is the declared one, or where some name none;
            a shard is missing; a file of a kind that is not read.
    """
    path = home(Path(source))
    try:
        if path.is_file():
            return _checked(name, remote, path.parent, [path], named=True)
        root, files = _found(name, path)
    except OSError as error:
        raise ConfigError(f"{name}: source={path} cannot be read ({error.strerror})") from error
    return _checked(name, remote, root, files)


def _found(name: str, path: Path) -> tuple[Path, list[Path]]:
    """Return the folder that file names are relative to, and every file of a dataset, of whatever split."""
    beside = sorted(path.iterdir()) if path.is_dir() else []
    single = [file for file in beside if _is_of(name, file) and file.is_file()]
    below = (Path(at, file) for at, _, files in os.walk(path / name, onerror=_refuse) for file in files)
    many = sorted(file for file in below if _counts(file.relative_to(path / name)) and file.is_file())
    if others := [file for file in (*single, *many) if file.suffix.lower() in _OTHERS]:
        raise ConfigError(f"{name}: source={path} has {_listed(others, path)}; expected {', '.join(SUFFIXES)} alone")
    single, many = ([file for file in files if file.suffix.lower() in SUFFIXES] for files in (single, many))
    if not single and not many:
        raise ConfigError(
            f"{name}: source={path} has no {name}{{{','.join(SUFFIXES)}}} and no folder {name} with such files"
        )
    plain = [file.name for file in single if file.stem == name]
    places = (plain or [file.name for file in single][:1]) + ([f"{name}/"] if many else [])
    if len(places) > 1:
        raise ConfigError(
            f"{name}: source={path} has {' and '.join(places)}; expected one of them, so that it is clear"
        )
    return (path, single) if single else (path / name, many)


def _refuse(error: OSError) -> None:
    """Raise what os.walk would pass over: a folder that is not there holds nothing, one that cannot be read might."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _is_of(name: str, file: Path) -> bool:
    """Return whether a file is called as the dataset, or as it and a split."""
    stem = file.name
    while (suffix := PurePath(stem).suffix).lower() in (*SUFFIXES, *_OTHERS):
        stem = stem.removesuffix(suffix)
    rest = stem.removeprefix(name)
    return stem.startswith(name) and (not rest or (rest[0] in "-_" and bool(_kinds(rest))))


def _counts(relative: PurePath) -> bool:
    return not any(part.startswith(".") for part in relative.parts) and relative.name not in _METADATA


def _checked(name: str, remote: Remote, root: Path, files: Sequence[Path], *, named: bool = False) -> Chosen:
    left_out: dict[str, str] = {}
    if named:
        kinds, expected = _said(files[0], root), remote.kinds()
        if kinds and expected and not (kinds & expected or remote.sole):
            raise ConfigError(
                f"{name}: {files[0]} names split {_any(sorted(kinds))}; expected {_any(sorted(expected))}"
            )
        return Chosen(files=list(files), left_out={})
    kept = _of_configs(name, remote, root, files, left_out)
    kept = _of_kinds(name, remote, root, kept, left_out)
    kept = _of_splits(name, remote, root, kept, left_out)
    _check_shards(name, kept)
    return Chosen(files=kept, left_out=left_out)


def _of_configs(name: str, remote: Remote, root: Path, files: Sequence[Path], left_out: dict[str, str]) -> list[Path]:
    """Keep the files that name one of the declared configurations; all where none names any."""
    configs = [config for config in remote.configs if config]
    if not configs:
        return list(files)
    by = {config: [file for file in files if _says(file, root, config)] for config in configs}
    if not any(by.values()):
        foreign = [file for file in files if set(file.relative_to(root).parts[:-1]) - _known_folders(name)]
        if foreign:
            raise ConfigError(
                f"{name}: source={root} has {_listed(foreign, root)}, which name no configuration {_any(configs)}; "
                "put the files of that one there, or pass source=FILE"
            )
        return list(files)
    if lacking := [config for config, found in by.items() if not found]:
        raise ConfigError(
            f"{name}: source={root} has no file of configuration {_any(lacking)}, only {_listed(files, root)}"
        )
    kept = [file for file in files if any(file in found for found in by.values())]
    left_out |= {str(file.relative_to(root)): "another configuration" for file in files if file not in kept}
    return kept


def _known_folders(name: str) -> set[str]:
    return {name, *_NEUTRAL, *(word for words in _NAMES_OF_SPLITS.values() for word in words)}


def _of_kinds(name: str, remote: Remote, root: Path, files: Sequence[Path], left_out: dict[str, str]) -> list[Path]:
    """Keep the files that name the declared split; all where none names any."""
    expected = remote.kinds()
    said = {file: _said(file, root) for file in files}
    spoken = set().union(*said.values())
    if both := [file for file, kinds in said.items() if len(kinds) > 1]:
        raise ConfigError(
            f"{name}: {_listed(both, root)} names {' and '.join(sorted(said[both[0]]))}; expected one split"
        )
    if not spoken or not expected or (remote.sole and len(spoken) == 1 and all(said.values())):
        return list(files)
    silent = [file for file, kinds in said.items() if not kinds]
    rest = [file for file, kinds in said.items() if kinds & expected]
    if silent or remote.sole or not rest:
        why = "say no split beside others that do" if silent else f"are not all of split {_any(sorted(expected))}"
        raise ConfigError(
            f"{name}: source={root}: which rows are meant? {_listed(silent or files, root)} {why}; "
            f"keep the files of the {_any(sorted(expected))} split alone, or pass source=FILE"
        )
    left_out |= {str(file.relative_to(root)): f"split {next(iter(said[file]))}" for file in files if file not in rest}
    return rest


def _of_splits(name: str, remote: Remote, root: Path, files: Sequence[Path], left_out: dict[str, str]) -> list[Path]:
    """Keep the files that name one of several declared splits, in that order; all where none names any."""
    words = {split: [split, *(word for of, word in remote.also if of == split)] for split in remote.splits}
    by = {
        split: [file for file in files if any(_says(file, root, word) for word in found)]
        for split, found in words.items()
    }
    if not any(by.values()):
        return list(files)
    if lacking := [split for split, found in by.items() if not found]:
        raise ConfigError(f"{name}: source={root} has no file of split {_any(lacking)}, only {_listed(files, root)}")
    kept = list(dict.fromkeys(file for found in by.values() for file in found))
    left_out |= {str(file.relative_to(root)): "another split" for file in files if file not in kept}
    return kept


def _check_shards(name: str, files: Sequence[Path]) -> None:
    """Refuse `x-00000-of-00002` without its other parts."""
    found: dict[tuple[Path, str, int], set[int]] = {}
    for file in files:
        if shard := _SHARD.match(file.stem):
            found.setdefault((file.parent, shard[1], int(shard[3])), set()).add(int(shard[2]))
    for (folder, stem, count), numbers in found.items():
        if missing := sorted(set(range(count)) - numbers):
            raise ConfigError(f"{name}: {folder / stem}-*: part {missing[0]:05d} of {count} is missing")


def _said(file: Path, root: Path) -> set[str]:
    """Return the splits that the innermost part of a path that names any does."""
    for part in reversed((*file.relative_to(root).parts[:-1], file.stem)):
        if kinds := _kinds(part):
            return kinds
    return set()


def _kinds(part: str) -> set[str]:
    words = _WORD.findall(part)
    return {kind for word in (*words, *(_GLUED.sub("", word.lower()) for word in words)) if (kind := kind_of(word))}


def _says(file: Path, root: Path, word: str) -> bool:
    """Return whether a folder below the root or the file's name has a word in it, between marks or alone."""
    pattern = re.compile(rf"(?:^|[-._ ]){re.escape(word)}(?:$|[-._ ])", re.I)
    return any(pattern.search(part) for part in (*file.relative_to(root).parts[:-1], file.stem))


def _listed(files: Iterable[Path], root: Path) -> str:
    names = [str(file.relative_to(root)) for file in files]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _any(words: Sequence[str]) -> str:
    return " or ".join(map(repr, words))

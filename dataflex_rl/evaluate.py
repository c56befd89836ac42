"""`python -m dataflex_rl.evaluate`: measure a finished run, a checkpoint or a model, by verl's own validation alone.

    python -m dataflex_rl.evaluate checkpoint=runs/default/tiny-toy3/uniform/seed_0
    python -m dataflex_rl.evaluate checkpoint=runs/.../seed_0/checkpoints/global_step_30 benchmark=paper12
    python -m dataflex_rl.evaluate model=qwen2_5_7b host=gpu8 task=multidomain3 benchmark=paper12

checkpoint: a run record (its last checkpoint), a checkpoint inside one, or a folder with a Hugging Face model; without
it the model is measured as it is. A run is measured under its own configuration, so on its own validation data its
eval.json is reproduced exactly; `benchmark=` and KEY=VALUE settings change that. out: the folder of the result, which
has the files of a run record that an evaluation fills (eval.json, eval_items.jsonl, config.yaml, train.log).

Exit codes: 0 done, 1 the evaluation failed, 2 refused, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from rich.table import Table

from dataflex_rl import record as rec
from dataflex_rl.config.compose import choices, neighbours
from dataflex_rl.config.inputs import check_inputs, make_inputs
from dataflex_rl.config.paths import shipped
from dataflex_rl.config.plain import plain
from dataflex_rl.config.plan import plan_runs
from dataflex_rl.config.schema import check_types
from dataflex_rl.data.benchmarks.rates import flags
from dataflex_rl.data.catalogue import VAL
from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.output import plain_console, safe_output
from dataflex_rl.record.evaluation import PHASES, domain_scores, read_items
from dataflex_rl.runtime.processes import TrainingProcess, child_environment
from dataflex_rl.runtime.scratch import scratch_folder
from dataflex_rl.runtime.start.owner import serving

_STEP = "global_step_"


@dataclass(frozen=True, kw_only=True)
class Target:
    """What to measure: a record and the folder and step of its checkpoint, or settings of a fresh configuration."""

    record: Path | None = None
    checkpoint: Path | None = None
    step: int = 0
    settings: tuple[str, ...] = ()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    safe_output()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    try:
        return evaluate(arguments)
    except (ConfigError, rec.RecordError, OmegaConfBaseException) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


def evaluate(arguments: Sequence[str]) -> int:
    """Measure what the arguments name; returns the exit code.

    Raises:
        ConfigError: nothing measurable at `checkpoint`, or settings that do not fit it.
    """
    ours = {key: value for key, _, value in (argument.partition("=") for argument in arguments)}
    if wrong := [argument for argument in arguments if "=" not in argument]:
        raise ConfigError(f"{wrong[0]!r}: expected KEY=VALUE, as checkpoint=FOLDER or benchmark=text12")
    if ours.get("dry_run", "false") != "false":
        raise ConfigError(f"dry_run={ours['dry_run']}: an evaluation has no dry run; leave it out to measure")
    settings = [argument for argument in arguments if argument.partition("=")[0] not in ("checkpoint", "out")]
    target = find(ours.get("checkpoint"), settings)
    if target.record is None:
        return _fresh(target, ours.get("out"))
    config = of_record(target, settings)
    check_types(config, {})
    default = target.record / "evaluations" / f"{config.get('benchmark_name', 'none')}-step_{target.step}"
    return measure(plain(config), Path(ours.get("out") or default), target)


def find(checkpoint: str | None, settings: Sequence[str]) -> Target:
    """Return what a `checkpoint=` argument points at.

    Raises:
        ConfigError: neither a record with a checkpoint, nor a checkpoint, nor a model.
    """
    if checkpoint is None:
        return Target(settings=tuple(settings))
    path = Path(checkpoint).expanduser().resolve()
    if (path / "manifest.json").is_file():
        return _of_run(path)
    step = path.name.removeprefix(_STEP)
    if path.name.startswith(_STEP) and step.isdigit() and (path / "actor").is_dir():
        record = path.parent.parent
        if (record / "config.yaml").is_file():
            return Target(record=record, checkpoint=path, step=int(step))
        return Target(checkpoint=path, step=int(step), settings=tuple(settings))
    if (path / "config.json").is_file():
        if any(setting.startswith("model=") for setting in settings):
            raise ConfigError(f"checkpoint={checkpoint} is a whole model: leave model= out")
        return Target(settings=(f"model={path}", *settings))
    raise ConfigError(
        f"checkpoint={checkpoint}: expected a run record (manifest.json), a checkpoint ({_STEP}<k> with actor/) "
        f"or a Hugging Face model (config.json); {'it has none of them' if path.exists() else 'there is nothing'}"
    )


def _of_run(path: Path) -> Target:
    step = rec.find_checkpoint(rec.RunRecord(path))
    if step is None:
        raise ConfigError(f"run record {path} has no whole checkpoint to measure")
    return Target(record=path, checkpoint=path / "checkpoints" / f"{_STEP}{step}", step=step)


def of_record(target: Target, settings: Sequence[str]) -> DictConfig:
    """Return the configuration of a record with the settings applied.

    Raises:
        ConfigError: another model than the record's, an unknown benchmark or key, or a group that cannot be changed.
    """
    assert target.record is not None, "the caller looked"
    values = rec.read_config(rec.RunRecord(target.record))
    assert values is not None, "the caller looked"
    config = OmegaConf.create(values)
    for setting in settings:
        key, _, value = setting.partition("=")
        if key == "model":
            if value != config.model_name:
                raise ConfigError(f"model={value}: the run trained {config.model_name}; leave model= out")
        elif key == "benchmark":
            config = DictConfig(OmegaConf.merge(config, _benchmark(value)))
        elif beside := neighbours(config, key):
            raise ConfigError(f"unknown setting {key!r} of the run; {beside}")
        else:
            config.merge_with_dotlist([setting])
    return config


def _benchmark(name: str) -> DictConfig:
    if name not in choices("benchmark"):
        raise unknown("benchmark", name, choices("benchmark"))
    return DictConfig(OmegaConf.load(shipped("conf") / "benchmark" / f"{name}.yaml"))


def _fresh(target: Target, out: str | None) -> int:
    """Compose a configuration and measure its model, or a checkpoint that lies outside of a record."""
    from dataflex_rl.host.validate import validate

    found = plan_runs(target.settings)
    if not found:
        return 0
    (plan,) = found
    for line in (*plan.warnings, *validate(plan.settings)):
        print(f"warning: {line}")
    settings = plan.settings
    benchmark = settings.get("benchmark_name", "none")
    names = (plan.model, settings["task_name"] if benchmark == "none" else benchmark, f"step_{target.step}")
    default = Path(settings["runs_dir"]).expanduser().resolve() / "evaluations" / "-".join(names)
    return measure(settings, Path(out) if out else default, target)


def measure(settings: Mapping[str, Any], out: Path, target: Target) -> int:
    """Validate once with verl, in a process of its own, and show the result; returns the exit code.

    An earlier result in the folder is replaced.

    Raises:
        ConfigError: the data are not there; RecordError: the folder cannot be written.
    """
    check_inputs(settings)
    inputs = make_inputs(settings, drawn=True)
    if inputs.rows[VAL].needs_a_look:
        print(f"warning: {inputs.rows[VAL].line(VAL)}")
    config = DictConfig(dict(inputs.settings))
    record = rec.RunRecord(out.expanduser().resolve()).create()
    for file in (record.eval, record.eval_items, record.log):
        file.unlink(missing_ok=True)
    rec.write_config(record, plain(evaluation_only(config, record.path, target)))
    with scratch_folder() as scratch, serving(dict(config.host.env) if config.host.name == "cpu" else None):
        environment = {**child_environment(config.host.get("env") or {}), **scratch}
        process = TrainingProcess(record.path, [], environment, record.log)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.stop()
            return 130
    result = rec.read_evaluation(record)
    if code or result is None:
        print(f"error: the evaluation ended with exit code {code}; see {record.log}", file=sys.stderr)
        return 1
    show(result, record)
    return 0


def evaluation_only(config: DictConfig, out: Path, target: Target) -> DictConfig:
    """Return the configuration under which verl only validates, the weights of the target in place."""
    result: DictConfig = config.copy()
    with open_dict(result):
        result.run_dir = str(out)
        trainer = result.trainer
        trainer.val_only = trainer.val_before_train = True
        trainer.default_local_dir = str(out / "checkpoints")
        trainer.resume_mode = "disable" if target.checkpoint is None else "resume_path"
        trainer.resume_from_path = None if target.checkpoint is None else str(target.checkpoint)
    return result


def show(result: dict[str, Any], record: rec.RunRecord) -> None:
    """Print the counts, what distorts them, and where they are."""
    phases = {phase for entry in result["benchmarks"].values() for phase in entry if phase in PHASES}
    for phase in sorted(phases):
        table = Table("domain", f"{phase} model", title="validation accuracy [percent]", title_justify="left")
        for domain, score in domain_scores(result, phase).items():
            table.add_row(domain, "missing" if score is None else f"{100 * score:.1f}")
        plain_console().print(table)
    for line in flags(read_items(record)):
        print(f"note: {line}")
    print(f"result: {record.eval}")


if __name__ == "__main__":
    sys.exit(main())

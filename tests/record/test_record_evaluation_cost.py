"""What evaluations during training cost: counted apart, the last step's not among them."""

from pathlib import Path

from dataflex_rl.record import MetricsLog, RunRecord, write_cost
from dataflex_rl.record.during import write_during
from tests.record.test_record_evaluation import TRAINED, items


def test_the_cost_of_evaluations_is_apart(tmp_path: Path) -> None:
    record, log = RunRecord(tmp_path), MetricsLog(RunRecord(tmp_path))
    for step in range(1, 7):
        testing = {"timing_s/testing": float(step)} if step % 2 == 0 else {}
        if testing:
            write_during(
                record, items("trained", TRAINED), step=step, tokens={"generated": 100 * step, "trained": None}
            )
        log.append(step, {"dataflex/tokens_generated": 100, "timing_s/step": 1.0, **testing})
    cost = write_cost(record, prompts_per_step=8, gpus=2)
    # 5 items of 7 tokens at steps 2 and 4, which took 2 s and 4 s; step 6 is the last
    assert cost["evaluations_during"] == {"count": 2, "tokens": 70, "seconds": 6.0, "gpu_seconds": 12.0}
    assert cost["gpu_seconds"] == 12.0
    assert cost["tokens"]["generated"] == 600


def test_without_evaluations_it_is_nothing(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    MetricsLog(record).append(1, {"timing_s/step": 1.0})
    cost = write_cost(record, prompts_per_step=8, gpus=1)
    assert cost["evaluations_during"] == {"count": 0, "tokens": 0, "seconds": 0.0, "gpu_seconds": 0.0}

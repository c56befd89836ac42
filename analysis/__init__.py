"""Paired-seed analysis of run records: `load` -> `stats` -> `tables`, `plots`, `report`.

    errors, options, benchmarks   the vocabulary: what a user can get wrong, can set, and what is measured
    load/                         sources (run records, CSV, W&B) to one checked frame
    summaries, blocks             frame to arrays: one block = one (model, task, regime, steps, evaluation)
    stats/                        arrays in, small frozen results out; generators are passed in
    audit, compare                what may be paired, and the flat comparison rows
    tables/, plots/, report/      what people read
    planning                      how many seeds an effect needs

Shapes: S seeds, M methods, K benchmarks, D domains, R resamples, T steps, I items. No suffix = scalar.
Scores are percent (0..100), differences are points. Missing is NaN in arrays and null in JSON; 0.0 is a score.
This package reads files: of dataflex_rl it imports only the definitions of `record`, and nothing of verl, ray, torch.
"""

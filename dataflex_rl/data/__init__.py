"""Tasks, benchmarks and models: what a run trains on, and how it is made.

- tasks, benchmarks: written by `dataflex_rl.prepare` as parquet files
- models: weights that are not simply a name on a hub
- tiny: the embedded model and task; catalogue: everything a configuration can name; cache: built once, used by
  all runs; progress: what is shown meanwhile
"""

"""From a command line to a checked and complete configuration.

- compose: Hydra's composition; schema: the kind of each setting; local_model: `model=FOLDER`
- plan: the one place that parses and checks a composed configuration
- sources: model and data files; regime, regime_rows: less data or wrong labels
- mixing: the mixer's part; memory: does the model fit
- methods, naming: the study's methods; paths: where conf/ and sweeps/ are; plain: a configuration as plain data;
  wandb_mode: where a run is logged
"""

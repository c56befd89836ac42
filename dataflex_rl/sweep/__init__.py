"""Sweeps: methods x seeds, each run isolated, resumed where it stopped, audited as pairs at the end.

- seeds: `seed=0-3,8` and Hydra's lists, taken apart before Hydra sees them
- files: a sweep file, one comparison: claim, methods, seeds, cost
- options: the launcher's settings
- plan: the runs of a request, checked and priced, nothing started
- store: the sweep's own folder, `<runs_dir>/<sweep>/.sweep/`
- lock: one launcher per sweep, by heartbeat
- fleet: the outer Ray cluster, on which attempts (dataflex_rl.runtime.task) run
- interrupt: Ctrl-C and SIGTERM, noted where something has to end in order
- launcher: which run starts next, what becomes of one that ended
- view: the live table, or plain lines
- overview: done, running, failed, time left, per method
- status: the same from another terminal
- records: is a run's record that of the plan, and done?
- audit: do the runs of a seed differ in nothing but the method? finished: what is compared; streams: the prompts
- ledger: tokens, seconds and GPU-hours per method

Why not hydra-ray-launcher (1.2.2 was read): it runs the task function inside the Ray worker that it is scheduled on, so
verl's own `ray.init` would join the outer cluster, where TransferQueue's controller is one named actor that two runs
would silently share. It asks for the same `ray.remote` options for every job, submits all jobs at once and waits for
them in order with `ray.get`, so that one failed or lost job raises and the results of the others are dropped; it has no
retry, timeout, skipping of done runs, lock, cancel or progress; and it requires boto3 and cloudpickle<3. All that a
sweep needs would stand around it, nothing of it inside. What it would save, a few lines of `ray.remote`, is in
`dataflex_rl.sweep.fleet`.
"""

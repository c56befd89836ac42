"""One run on this machine: its attempt, its processes, what a person sees of it, and its copy in Weights & Biases.

- attempt: lock the record, decide where to continue, train, close the record
- task: a run's command as a child process that is watched, timed and ended as a whole
- processes: the training process and everything it starts, ended as a whole
- console: live view and final table; uploader, wandb_log: the W&B copy
"""

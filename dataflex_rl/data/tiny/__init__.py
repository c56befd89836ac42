"""The embedded model and task: what runs without a download.

- `toy3`: the problems, their answers and how often the untrained model is right (standard library only)
- `data`: the parquet files in verl's schema, graded before they are kept
- `tokenizer`, `model`: the character tokenizer and the pre-training of the Llama
- `shipped_model`: the finished model of the default options, in `shipped/`; copied, not trained
- `options`: every setting; `cache`: built once per setting; `build`: the way in
"""

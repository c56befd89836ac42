"""The study's tasks: from public data or generators to graded parquet files in verl's schema.

- items: one problem with its gold answer; rows, files, and the check that every gold answer grades as correct
- read: raw rows from a hub, a folder or a file, with their columns checked
- options: options of a multiple-choice question in a seeded order
- public: gsm8k, DeepScaleR, DAPO-Math-17k, K-and-K/knights-and-knaves, allenai/sciq
- multidomain3: 5,000 prompts for each of math, logic and science
- text3, text_math, text_logic, text_science: the same three domains generated offline, graded by difficulty
- shares: equal shares of the levels, also where a generator runs dry
- latex: which gold answers in LaTeX can be graded
- overlap: training prompts that also occur in a benchmark
- card: what was read, kept and dropped, as a file beside the data
- folder: a folder of prepared data, replaced as a whole
"""

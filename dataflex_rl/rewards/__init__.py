"""Verifiers in verl's compute_score signature. Every result has the same keys: score, acc (0.0 or 1.0) and pred.

- dispatch: the one verl loads for the study's tasks; chooses the verifier by data_source
- math: the last boxed answer, equal to the gold one as text, as a number or symbolically
- knights: the last stated role of every person in the final answer
- choice: one option letter A..J, stated as the answer
- toy3: the exact text, for the embedded task
- choice_reading, knights_reading: where a text states a letter; which roles it states
- math_judge: whether two answers are the same; math_shape: values, lists and tuples; math_text: exact numbers, units
- notation: the one table of notations that mean the same
- boxed, answer: the last `\\boxed{...}`; the common result
- symbolic, symbolic_worker: the bounded process in which formulas are compared
- formula, sameness, values: in that process; a formula read as a whole, two of them compared, a value held against 0

`pred` is what was read as the answer, "" where the response states none. No text of a model raises or runs as
code; where two readings of it are arguable it states no answer.
"""

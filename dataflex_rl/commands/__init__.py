"""The smaller commands of `dataflex-rl`: demo, doctor, list, where, plot-mix."""

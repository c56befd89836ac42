"""The smaller commands of `dataflex-rl`: doctor, list, where."""

"""Figures, each a function from plain arrays to a matplotlib figure; `style` turns figures into SVG and PNG.

style     house style, SVG that follows the page's colours, PNG
forest    deltas with intervals and the margin
heatmap   deltas per domain
curves    seed bands over steps, score against tokens
planning  power over seeds
mixer     shares and statistic of one run with a mixer: `dataflex-rl plot-mix`
"""

"""Statistics: arrays in, small frozen results out. Generators are passed in; nothing is read from disk.

    paired        one vector of paired differences: t interval, t, sign-flip and Wilcoxon p, d_z
    equivalence   two one-sided t tests against a margin
    multiplicity  Holm and Benjamini-Hochberg over families with gaps; the verdict
    design        sequential, screen and fixed designs: looks, controls, rules
    boundaries    their critical values by Monte Carlo, no sigma needed
    sequential    what a look decides, for many studies at once
    guards        when the pooled boundary is refused; the covariate's beta
    decisions     what a look needs and decided, and sentences about it
    look          one look of a real study
    protocol      what a study fixes before its first run, and looks, as JSON
    simulation    operating characteristics of a design
    power         detectable effect, seeds needed, power of the paired t test and of TOST
    layout        two-way method + seed layout: residual sd, seed ICC, pairing gain
    noise         spread of runs and its split, late evaluations, A/A tests
    ranks         rank correlations of summaries and how fragile they are; rank intervals
    bootstrap     percentile bootstrap (secondary, n >= 8)
    replay        a design on the runs of a finished study
    suspects      evaluations that do not fit their block
    items         question-level differences clustered by item, McNemar
    curves        curves over steps and tokens, interpolation at equal tokens

Shapes: S seeds, M methods, K benchmarks, R resamples or studies, I items, T steps, J looks, L arms left.
"""

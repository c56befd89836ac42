"""Sequential designs: numbers of runs, boundaries, decisions by hand, guards, looks of a study and their sentences."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from analysis.errors import AnalysisError
from analysis.stats.boundaries import Boundaries, boundaries, spend
from analysis.stats.decisions import Cell, blockers, runs_needed, sentence
from analysis.stats.design import Design, design
from analysis.stats.guards import covariate_beta, levene_p, levene_p_moments, refusal
from analysis.stats.layout import SeedCorrelation, seed_correlation
from analysis.stats.look import take_look
from analysis.stats.sequential import (
    INFERIOR,
    NO_GAIN,
    OPEN,
    SUPERIOR,
    Moments,
    Summary,
    decide,
    interval,
    paired_summary,
    summarise,
)


def seen(delta, se):
    return Summary(delta_RM=np.array([delta], dtype=float), se_RM=np.full((1, len(delta)), float(se)))


def test_runs_and_controls_of_the_designs():
    for name, runs, controls, most in (
        ("sequential", (4, 6, 8), (14, 21, 28), 124),  # sqrt(12) = 3.46 controls per run of an arm
        ("screen", (3, 4, 5), (10, 14, 17), 77),
        ("fixed", (12,), (12,), 156),
    ):
        made = design(name, 12)
        assert (made.runs_J, made.controls_J, made.most_runs) == (runs, controls, most)
    assert design("sequential", 1).controls_J == (4, 6, 8)
    assert design("sequential", 12).degrees(0) == 12 * 3 + 13
    assert [design("sequential", 12).information(j) for j in range(3)] == pytest.approx([0.5, 0.75, 1.0])


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"name": "other"}, "unknown design 'other'; known: sequential, screen, fixed"),
        ({"arms": 0}, "arms=0"),
        ({"margin": 0.0}, "margin=0.0"),
        ({"beta": 1.0}, "beta=1.0"),
        ({"family": "tukey"}, "unknown family rule 'tukey'"),
        ({"variance": "own"}, "unknown variance 'own'"),
        ({"runs": 5}, "only the fixed design"),
    ],
)
def test_bad_designs(change, part):
    settings = {"name": "sequential", "arms": 4} | change
    with pytest.raises(AnalysisError, match=part):
        design(settings.pop("name"), settings.pop("arms"), **settings)
    with pytest.raises(AnalysisError, match="expected growing numbers"):
        Design(name="own", arms=2, runs_J=(6, 4), controls_J=(8, 9))
    with pytest.raises(AnalysisError, match="as many controls or more"):
        Design(name="own", arms=2, runs_J=(4, 6), controls_J=(3, 9))


def test_the_error_spent():
    # 2 - 2 Phi(2.2414 / sqrt(.5)) = 2 - 2 Phi(3.1698) = .00153; all of it at the end.
    assert spend(0.025, 0.5) == pytest.approx(0.001525, abs=2e-5)
    assert spend(0.025, 1.0) == pytest.approx(0.025)


@pytest.fixture(scope="module")
def shipped():
    return boundaries(design("sequential", 12), np.random.default_rng(0))


def test_boundaries_of_twelve_arms(shipped):
    assert shipped.one_J == pytest.approx((3.132, 2.412, 2.045), abs=0.02)
    for left, expected in (
        (12, (4.633, 3.506, 2.946)),
        (8, (4.399, 3.342, 2.811)),
        (4, (3.990, 3.049, 2.570)),
        (2, (3.565, 2.740, 2.314)),
        (1, (3.117, 2.408, 2.037)),
    ):
        # Monte Carlo error of a quantile of the rarest event, .0004 of 2 x 10^6 mirrored paths: about .01.
        assert shipped.family_LJ[left - 1] == pytest.approx(expected, abs=0.04)
    assert [b[0] for b in shipped.family_LJ] == sorted(b[0] for b in shipped.family_LJ)


def test_boundaries_of_the_screen():
    made = boundaries(design("screen", 12), np.random.default_rng(1))
    assert made.one_J == pytest.approx((2.856, 2.359, 2.081), abs=0.02)
    assert made.family_LJ[11] == pytest.approx((3.763, 3.285, 3.042), abs=0.06)
    assert made.family_LJ[0] == pytest.approx(made.one_J, abs=0.06)


def test_boundaries_agree_with_an_integral_over_the_path():
    # Many arms leave the variance known: the path is a Brownian motion at t = .5, .75, 1, and P(no stop) an integral.
    made = boundaries(design("sequential", 400, family="each"), np.random.default_rng(2), paths=400_000)
    c1, c2, c3 = made.one_J
    b1, b2 = c1 * math.sqrt(0.5), c2 * math.sqrt(0.75)

    def goes_on(y, x):
        step = stats.norm.cdf((c3 - y) / 0.5) * stats.norm.pdf(y, x, 0.5)
        return step * stats.norm.pdf(x, 0, math.sqrt(0.5))

    inside, _ = integrate.dblquad(goes_on, -4, b1, lambda x: x - 4, b2, epsabs=1e-5)
    assert 1 - inside == pytest.approx(0.025, abs=0.001)


def test_a_fixed_design_has_students_quantiles():
    made = boundaries(design("fixed", 8), np.random.default_rng(0))
    assert made.one_J == pytest.approx((stats.t.isf(0.025, 11),))
    assert made.family_LJ[7] == pytest.approx((stats.t.isf(0.025 / 8, 11),))


def test_delta_and_error_by_hand():
    # Arm (1, 2, 3, 6): mean 3, squares 14. Control (0, 2, 1, 1, 1, 1): mean 1, squares 2. df 3 + 5, s^2 = 16 / 8 = 2.
    arm, control = np.array([1.0, 2, 3, 6]), np.array([0.0, 2, 1, 1, 1, 1])
    runs = Moments(n_RM=np.array([[4.0]]), mean_RM=np.array([[3.0]]), square_RM=np.array([[14.0]]),
                   control_n_R=np.array([6.0]), control_mean_R=np.array([1.0]), control_square_R=np.array([2.0]),
                   paired_RM=np.array([[control[:4].mean()]]))  # fmt: skip
    plan = Design(name="own", arms=1, runs_J=(4,), controls_J=(6,), variance="pooled")
    found = summarise(plan, runs)
    assert (found.delta_RM[0, 0], found.se_RM[0, 0]) == pytest.approx((2.0, math.sqrt(2 * (1 / 4 + 1 / 6))))
    # Its own variance, 14 / 3, is larger than the pooled one.
    larger = summarise(Design(name="own", arms=1, runs_J=(4,), controls_J=(6,)), runs)
    assert larger.se_RM[0, 0] == pytest.approx(math.sqrt(14 / 3 * (1 / 4 + 1 / 6)))
    # beta .5: 3 - .5 * 1 - .5 * 1 = 2; f = .75 / 4 + .25 / 6.
    half = summarise(Design(name="own", arms=1, runs_J=(4,), controls_J=(6,), variance="pooled", beta=0.5), runs)
    assert (half.delta_RM[0, 0], half.se_RM[0, 0]) == pytest.approx((2.0, math.sqrt(2 * (0.75 / 4 + 0.25 / 6))))
    assert found.delta_RM[0, 0] == arm.mean() - control.mean()


def test_the_covariates_variance_by_simulation(rng):
    """f is the variance of the difference where the true correlation is beta."""
    beta, n, c, studies = 0.4, 4, 14, 40_000
    shared = math.sqrt(beta) * rng.standard_normal((studies, c))
    control = shared + math.sqrt(1 - beta) * rng.standard_normal((studies, c))
    arm = shared[:, :n] + math.sqrt(1 - beta) * rng.standard_normal((studies, n))
    delta = arm.mean(1) - beta * control[:, :n].mean(1) - (1 - beta) * control.mean(1)
    plan = Design(name="own", arms=1, runs_J=(n,), controls_J=(c,), beta=beta)
    assert delta.var() == pytest.approx(plan.variance_factor(n, c), rel=0.03)
    assert plan.variance_factor(n, c) < 1 / n + 1 / c


TABLE = Boundaries(one_J=(3.0, 2.0), family_LJ=((3.0, 2.0), (4.0, 2.5), (5.0, 3.0)))
PLAN = Design(name="own", arms=3, runs_J=(4, 8), controls_J=(8, 16), variance="pooled")


@pytest.mark.parametrize(
    ("name", "look", "t", "before", "expected"),
    [
        ("nothing reaches 5", 0, (4.9, 3.0, 0.0), (0, 0, 0), (OPEN, OPEN, OPEN)),
        ("stepping down: 5, then 4, then 3", 0, (5.0, 4.0, 3.0), (0, 0, 0), (SUPERIOR,) * 3),
        ("the step stops at the first that fails", 0, (5.1, 3.9, 3.8), (0, 0, 0), (SUPERIOR, OPEN, OPEN)),
        ("one superior before: two left, 2.5", 1, (0.0, 2.5, 1.9), (SUPERIOR, 0, 0), (SUPERIOR, SUPERIOR, OPEN)),
        ("an arm without a gain still counts as left", 1, (0.0, 2.5, 0.0), (NO_GAIN, 0, 0), (NO_GAIN, OPEN, OPEN)),
        ("a decided arm keeps its status", 1, (9.0, 0.0, 0.0), (NO_GAIN, 0, 0), (NO_GAIN, OPEN, OPEN)),
    ],
)
def test_holm_by_hand(name, look, t, before, expected):
    # se 1 and margin 1: no gain needs t + 3 <= 1 or t + 2 <= 1, below all these.
    after = decide(PLAN, TABLE, look, seen(t, 1.0), np.array([before]))
    assert tuple(after[0]) == expected, name


def test_no_gain_superior_and_inferior_by_hand():
    # se .25: no gain where delta <= 1 - 3 * .25 = .25; superior from 5 * .25 = 1.25 on.
    status = np.zeros((1, 3), dtype=int)
    assert tuple(decide(PLAN, TABLE, 0, seen((0.25, 0.26, 1.25), 0.25), status)[0]) == (NO_GAIN, OPEN, SUPERIOR)
    # se .1: .6 is six standard errors above 0, and .6 + .3 <= 1: superior goes first.
    assert decide(PLAN, TABLE, 0, seen((0.6, 0.0, 0.0), 0.1), status)[0, 0] == SUPERIOR
    asked = Design(name="own", arms=3, runs_J=(4, 8), controls_J=(8, 16), inferior=True)
    assert tuple(decide(asked, TABLE, 0, seen((-1.25, -0.9, 0.9), 0.25), status)[0]) == (INFERIOR, NO_GAIN, OPEN)
    each = Design(name="own", arms=3, runs_J=(4, 8), controls_J=(8, 16), family="each")
    assert tuple(decide(each, TABLE, 0, seen((0.75, 0.74, 0.74), 0.25), status)[0]) == (SUPERIOR, OPEN, OPEN)
    assert tuple(decide(PLAN, TABLE, 0, seen((math.nan,) * 3, 1.0), status)[0]) == (OPEN, OPEN, OPEN)
    assert interval(TABLE, 1.0, 0.25) == (0.5, 1.5)  # the last look's 2 standard errors, at any look


def test_paired_differences_agree_with_scipy(rng):
    arm, control = rng.normal(0, 1, (1, 2, 6)), rng.normal(0, 1, (1, 6))
    arm[0, 1, 3] = np.nan
    found = paired_summary(arm, control)
    for i, kept in ((0, slice(None)), (1, [0, 1, 2, 4, 5])):
        expected = stats.ttest_rel(arm[0, i, kept], control[0, kept]).statistic
        assert found.delta_RM[0, i] / found.se_RM[0, i] == pytest.approx(expected)


def test_levene_from_moments_agrees_with_scipy(rng):
    groups = [rng.normal(0, s, n) for s, n in ((1, 4), (1, 6), (2, 8), (1, 14))]
    away = [np.abs(g - np.median(g)) for g in groups]
    parts = (np.array([[f(a) for a in away]]) for f in (len, np.mean, lambda a: ((a - a.mean()) ** 2).sum()))
    assert levene_p_moments(*parts)[0] == pytest.approx(levene_p(groups))
    assert math.isnan(levene_p([np.ones(3), np.ones(4)]))


def test_refusals():
    assert refusal(0.3, 3, 62) == ""
    assert refusal(math.nan, 0, 10) == ""
    assert refusal(0.3, 4, 62) == "4 of 62 runs are suspect, more than 5%"
    assert refusal(0.012, 0, 62) == "the spread of runs differs between arms (Levene p = 0.012 < 0.05)"


def test_beta_is_the_lower_bound_of_an_independent_pilot(rng):
    pilot = seed_correlation(rng.normal(0, 1, (4, 200)) + rng.normal(0, 1, 200))
    assert pilot.low < pilot.lower90 < pilot.rho < pilot.high
    assert pilot.rho == pytest.approx(0.5, abs=0.08)
    assert covariate_beta(pilot) == pilot.lower90
    assert covariate_beta(SeedCorrelation(rho=0.1, low=-0.3, high=0.4, lower90=-0.1)) == 0.0
    assert covariate_beta(seed_correlation(np.ones((2, 1)))) == 0.0


def test_the_lower_bound_covers_nine_times_in_ten(rng):
    hits = [seed_correlation(rng.normal(0, 1, (4, 6)) * math.sqrt(0.7) + rng.normal(0, 1, 6) * math.sqrt(0.3))
            for _ in range(1500)]  # fmt: skip
    assert np.mean([h.lower90 <= 0.3 for h in hits]) == pytest.approx(0.9, abs=0.03)
    assert np.mean([h.low <= 0.3 <= h.high for h in hits]) == pytest.approx(0.95, abs=0.023)


ARMS, SEEDS = ("good", "same", "unclear"), tuple(range(100, 116))


def study(rng, gains=(3.0, -0.6, 0.55), sd=0.5):
    effect = dict(zip(ARMS, gains, strict=True)) | {"plain": 0.0}
    return {(m, s): Cell(state="done", score=50 + e + sd * z) for m, e in effect.items()
            for s, z in zip(SEEDS, rng.standard_normal(16), strict=True)}  # fmt: skip


def look(number, cells, **more):
    return take_look(PLAN, TABLE, number, arms=ARMS, control="plain", seeds=SEEDS, cells=cells, **more)


def test_a_study_from_look_to_look(rng):
    cells = study(rng)
    first = look(1, cells)
    assert {d.arm: d.verdict for d in first.decisions} == {"good": "superior", "same": "no gain", "unclear": "open"}
    # By hand: delta from plain means over 4 and 8 runs, variance pooled over all of them.
    groups = [np.array([cells[(m, s)].score for s in SEEDS[:n]]) for m, n in (*((a, 4) for a in ARMS), ("plain", 8))]
    s2 = sum(((g - g.mean()) ** 2).sum() for g in groups) / (3 * 3 + 7)
    good = first.of("good")
    assert good.delta == pytest.approx(groups[0].mean() - groups[3].mean())
    assert good.se == pytest.approx(math.sqrt(s2 * (1 / 4 + 1 / 8)))
    assert (good.needed, good.left) == (pytest.approx(5 * good.se), 3)
    assert (good.low, good.high) == pytest.approx((good.delta - 2 * good.se, good.delta + 2 * good.se))
    second = look(2, cells, before=first)
    assert second.of("good") == good  # decided arms keep their decision
    assert second.of("unclear").n == 8
    assert second.of("unclear").left == 2
    assert second.of("unclear").verdict in ("undecided", "superior", "no gain")
    assert look(2, cells, before=look(1, cells)) == second  # taken again, it decides alike


def test_what_a_look_needs_and_what_blocks_it(rng):
    cells = study(rng)
    first = look(1, cells)
    assert len(runs_needed(PLAN, 1, ARMS, "plain", SEEDS, None)) == 8 + 3 * 4
    needed = runs_needed(PLAN, 2, ARMS, "plain", SEEDS, first)
    assert needed == [("plain", s) for s in SEEDS] + [("unclear", s) for s in SEEDS[:8]]
    cells |= {("unclear", 105): Cell(state="failed"), ("plain", 110): Cell(state="unreadable")}
    cells[("plain", 111)] = Cell(state="done")
    del cells[("unclear", 106)]
    said = ["plain seed 110 (unreadable)", "plain seed 111 (no score)", "unclear seed 105 (failed)"]
    assert blockers(needed, cells) == [*said, "unclear seed 106 (missing)"]
    with pytest.raises(AnalysisError, match=r"look 2 waits for plain seed 110 \(unreadable\), "):
        look(2, cells, before=first)
    with pytest.raises(AnalysisError, match="look 2 after none"):
        look(2, cells)
    with pytest.raises(AnalysisError, match="look 2 wants 16 for the control plain"):
        runs_needed(PLAN, 2, ARMS, "plain", SEEDS[:9], first)
    with pytest.raises(AnalysisError, match="expected 3 different ones"):
        runs_needed(PLAN, 1, ARMS[:2], "plain", SEEDS, None)


def test_a_run_that_failed_for_good_is_counted_and_said(rng):
    cells = study(rng)
    cells[("good", 101)] = Cell(state="failed for good")
    found = look(1, cells).of("good")
    assert (found.n, found.planned) == (3, 4)
    text = sentence(PLAN, found, "plain")
    assert text.startswith("good is superior to plain: +")
    assert "at look 1 of 2 (3 of 4 runs, the others failed for good against 8 of plain)" in text
    assert text.endswith("by Holm, 3 arms left. An estimate after stopping for superiority is biased upwards.")


def test_sentences(rng):
    found = look(1, study(rng))
    said = {a: sentence(PLAN, found.of(a), "plain") for a in ARMS}
    assert "A gain of 1 points over plain is ruled out for same" in said["same"]
    assert "This does not say that there is no difference; " in said["same"]
    assert said["same"].endswith("an estimate after stopping for it is biased downwards.")
    assert said["unclear"].startswith("unclear against plain is open: ")
    assert f"interval [{found.of('unclear').low:+.2f}, {found.of('unclear').high:+.2f}]" in said["unclear"]


def test_a_refused_boundary_decides_nothing_until_a_paired_test_at_the_end(rng):
    cells = study(rng)
    first = look(1, cells, suspects=2)
    assert first.refused == "2 of 20 runs are suspect, more than 5%"
    assert all(d.open for d in first.decisions)
    second = look(2, cells, before=first)
    assert second.refused == first.refused  # once refused, always
    for arm in ARMS:
        a, b = (np.array([cells[(m, s)].score for s in SEEDS[:8]]) for m in (arm, "plain"))
        test = stats.ttest_rel(a, b)
        assert second.of(arm).delta / second.of(arm).se == pytest.approx(test.statistic)
    assert second.of("good").verdict == "superior"
    assert second.of("good").needed == pytest.approx(stats.t.isf(0.025 / 3, 7) * second.of("good").se)
    assert "The pooled boundary was refused" in sentence(PLAN, second.of("good"), "plain", refused=second.refused)


def test_a_fixed_design_looks_once_and_pairs(rng):
    cells = study(rng)
    plan = Design(name="fixed", arms=3, runs_J=(12,), controls_J=(12,), pairs=True)
    bounds = boundaries(plan, rng)
    found = take_look(plan, bounds, 1, arms=ARMS, control="plain", seeds=SEEDS, cells=cells)
    assert found.of("good").verdict == "superior"
    assert found.of("good").needed == pytest.approx(stats.t.isf(0.025 / 3, 11) * found.of("good").se)

"""How what endpoints count corrects what is estimated."""

from __future__ import annotations

import random

import pytest

from gateway.llm.tokens.calibration import LEAST, MODELS, MOST, STEP, Calibration, Calibrations
from gateway.messages import Usage


def taught(*answers: tuple[int, int]) -> Calibration:
    """Return the calibration after answers, each what was estimated and what the endpoint counted."""
    calibration = Calibration()
    for estimated, counted in answers:
        calibration = calibration.after(estimated, Usage(prompt=counted))
    return calibration


def test_before_any_answer_an_estimate_stands() -> None:
    assert Calibration().corrected(12_345) == 12_345


@pytest.mark.parametrize("truth", [0.6, 0.8, 1.0, 1.3, 1.7])
def test_a_few_answers_teach_what_the_model_counts(truth: float) -> None:
    calibration = taught(*[(10_000, round(10_000 * truth))] * 12)
    assert calibration.corrected(50_000) == pytest.approx(50_000 * truth, rel=0.1)


def test_the_first_answer_already_helps() -> None:
    assert taught((10_000, 12_000)).corrected(10_000) == 12_000


@pytest.mark.parametrize("wrong", [1, 100, 20_000, 9_000_000])
def test_one_answer_that_is_far_off_changes_little(wrong: int) -> None:
    calibration = taught(*[(10_000, 11_000)] * 10, (10_000, wrong))
    assert calibration.factor == pytest.approx(1.1, rel=0.06)


def test_answers_that_scatter_settle_in_their_middle() -> None:
    chance = random.Random(1)
    answers = [(10_000, round(10_000 * chance.uniform(1.1, 1.3))) for _ in range(200)]
    assert taught(*answers).factor == pytest.approx(1.2, abs=0.05)


@pytest.mark.parametrize(("counted", "bound"), [(1_000_000, MOST), (300, LEAST)])
def test_the_factor_is_bounded(counted: int, bound: float) -> None:
    assert taught(*[(10_000, counted)] * 100).factor == pytest.approx(bound)


@pytest.mark.parametrize(("estimated", "counted"), [(0, 0), (10_000, 0), (10, 400), (400, 10), (0, 5_000)])
def test_an_endpoint_that_does_not_count_and_requests_of_few_tokens_teach_nothing(estimated: int, counted: int) -> None:
    assert taught((estimated, counted)) == Calibration()


def test_each_answer_moves_by_no_more_than_a_step() -> None:
    assert taught((10_000, 19_000)).factor == STEP


def test_models_are_learnt_one_by_one_and_the_oldest_is_forgotten() -> None:
    known = Calibrations()
    known.learn("qwen", 10_000, Usage(prompt=12_000))
    assert known.of("qwen").corrected(1_000) == 1_200
    assert known.of("other").corrected(1_000) == 1_000
    for number in range(MODELS):
        known.learn(f"model-{number}", 10_000, Usage(prompt=11_000))
        if number < MODELS - 1:
            known.learn("qwen", 10_000, Usage(prompt=12_000))
    assert known.of("qwen").answers == MODELS
    assert known.of("model-0") == Calibration()

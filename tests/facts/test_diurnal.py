import pytest

from bide.facts.diurnal import DayCurve, day_curves


@pytest.mark.parametrize("curve", day_curves().values(), ids=lambda curve: curve.id)
def test_a_day_has_24_shares_of_its_busiest_hour_and_a_source(curve: DayCurve) -> None:
    assert len(curve.hours) == 24
    assert max(curve.hours) == 1
    assert min(curve.hours) > 0
    assert curve.clock in ("UTC", "local")
    assert curve.source.text
    assert curve.source.checked


def test_a_coding_service_has_ten_times_as_much_by_day() -> None:
    # Weekdays of the Azure code trace of 2024 swing by about 10 : 1 (DynamoLLM, arXiv 2408.00741).
    hours = day_curves()["office"].hours
    assert max(hours) / min(hours) == pytest.approx(10, rel=0.05)

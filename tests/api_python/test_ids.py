"""Job ids: they sort by time, and a key always gives the same ids."""

from fairlane.ids import keyed_id, new_id


def test_ids_made_one_after_the_other_sort_in_that_order() -> None:
    made = [new_id() for _ in range(10_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_a_key_always_gives_the_same_ids() -> None:
    ids = {keyed_id(key, number) for key in ("a", "b", new_id()) for number in range(3)}
    assert len(ids) == 9
    assert keyed_id("a", 1) == keyed_id("a", 1)


def test_jobs_under_keys_that_begin_with_a_time_sort_by_it() -> None:
    keys = ["01a1e3a3-ce52-7002-b2d4-d9ce79ccbd3b", "01a1e3a3-ce53-7000-8147-5589633d17c8 and more"]
    ids = [keyed_id(key, number) for key in keys for number in range(100)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)

from bayesdp import Count


def test_counts_have_sensitivity_one() -> None:
    assert Count("s", equals=1).sensitivity == 1
    assert Count("s", isin=[1, 2]).sensitivity == 1
    assert Count("s", equals=False, where="t > 3").sensitivity == 1


def test_a_count_is_the_same_question_in_whatever_words() -> None:
    same = [Count("s", equals=1), Count("s", isin=[1]), Count("s", equals=True), Count("s", isin=[1.0])]
    assert len({str(query.identity()) for query in same}) == 1
    assert Count("s", isin=["b", "a"]).identity() == Count("s", isin=["a", "b"]).identity()
    assert Count("s", equals=2).identity() != Count("s", equals=1).identity()

"""Dataclasses that are quick to create compare, hash and print like the standard library's."""

import pytest

from normlint.text.frozen import dataclass, kept_each, replace


@dataclass(frozen=True, slots=True)
class Pair:
    one: object
    two: object = 2


@dataclass(frozen=True)
class Single:
    one: object


@dataclass
class Open:
    one: object


@dataclass(frozen=True, eq=False)
class Alone:
    one: object


EQUAL = {
    "two fields": (Pair(1), Pair(1, 2)),
    "one field, which is a tuple": (Single((1, 2)), Single((1, 2))),
    "after a change and back": (Pair(1), replace(replace(Pair(1), one=3), one=1)),
    "one that may change": (Open(1), Open(1)),
}
UNEQUAL = {
    "another value": (Pair(1), Pair(2)),
    "another class with the same values": (Single(1), Open(1)),
    "a tuple of the values": (Pair(1, 2), (1, 2)),
    "a class that is only itself": (Alone(1), Alone(1)),
}


@pytest.mark.parametrize(("one", "other"), UNEQUAL.values(), ids=UNEQUAL)
def test_an_instance_is_not_equal_to(one: object, other: object) -> None:
    assert one != other


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_an_instance_is_equal_to_one_with_the_same_values(one: object, other: object) -> None:
    assert one == other


def test_equal_frozen_instances_are_one_key() -> None:
    assert {Pair(1): "a", Pair(1): "b", Single((1, 2)): "c"} == {Pair(1): "b", Single((1, 2)): "c"}


def test_one_that_may_change_is_no_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open(1))


def test_one_that_holds_itself_can_be_printed() -> None:
    inside: list[object] = []
    whole = Pair(1, inside)
    inside.append(whole)
    assert repr(whole) == "Pair(one=1, two=[...])"


class Squares:
    def __init__(self) -> None:
        self.computed: list[int] = []

    @kept_each
    def of(self, number: int) -> int:
        self.computed.append(number)
        return number * number


def test_each_argument_is_computed_once() -> None:
    squares = Squares()
    assert ([squares.of(3), squares.of(2), squares.of(3)], squares.computed) == ([9, 4, 9], [3, 2])


def test_an_object_that_nothing_else_holds_computes_it_too() -> None:
    assert Squares().of(3) == 9

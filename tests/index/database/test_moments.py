"""Names and revisions are read once at a moment."""

from __future__ import annotations

from index.database.moments import forget, moment, read_once


def test_a_thing_is_read_once_at_a_moment_and_always_outside_of_one() -> None:
    numbers = iter(range(10))

    def read(key: str) -> int:
        return read_once(key, lambda: next(numbers))

    assert [read("a"), read("a")] == [0, 1]
    with moment():
        assert [read("a"), read("a"), read("b")] == [2, 2, 3]
        forget()
        assert read("a") == 4
    with moment():
        assert read("a") == 5
    assert read("a") == 6
    forget()


def test_what_cannot_be_read_is_asked_for_again() -> None:
    answers = iter([LookupError("none yet"), None])

    def read() -> str:
        answer = next(answers)
        if answer is not None:
            raise answer
        return "found"

    with moment():
        try:
            read_once("a", read)
        except LookupError:
            assert read_once("a", read) == "found"

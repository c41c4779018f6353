"""Words of a text in names, places and descriptions of photos."""

import pytest

from index.catalog.views import ItemRow
from index.documents.documents import Documents
from index.photos.words import PhotoWords


def row(number, **metadata):
    return ItemRow(number, f"item-{number}", metadata, ())


def test_words_of_photos_without_names_give_nothing():
    documents = Documents()
    documents.add([row(1, camera="Apple iPhone")])
    words = PhotoWords("an apple", documents, "token")
    assert (words.named, words.gains) == ([], None)


def test_a_name_gives_and_a_camera_does_not():
    documents = Documents()
    documents.add([row(1, title="an apple"), row(2, camera="Apple iPhone")])
    words = PhotoWords("an apple", documents, "token")
    assert words.named == ["apple"]
    assert words.gains.revisions.tolist() == [1]


@pytest.mark.parametrize("text", ["a", "A", "à", "the", "an a", "I"])
def test_articles_and_function_letters_name_no_photo(text):
    documents = Documents()
    documents.add([row(1, folder="Été à Nice", file="Été à Nice/the I an A.jpg")])
    assert PhotoWords(text, documents, "token").gains is None


@pytest.mark.parametrize("text", ["C", "us", "Nice", "a Nice"])
def test_other_short_words_name_photos(text):
    documents = Documents()
    documents.add([row(1, folder="Été à Nice", title="Us and C")])
    assert PhotoWords(text, documents, "token").gains.revisions.tolist() == [1]


class Growing(Documents):
    """Documents with another photo once words are looked up."""

    def wording(self):
        with self.lock:
            if len(self) == 1:
                self.add([row(2, camera="Apple iPhone")])
        return super().wording()


def test_a_camera_gives_nothing_while_the_collection_grows():
    documents = Growing()
    documents.add([row(1, title="orchard")])
    words = PhotoWords("an apple", documents, "token")
    assert (words.named, words.gains) == ([], None)

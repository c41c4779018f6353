"""Words of a text in names, places and descriptions of photos."""

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

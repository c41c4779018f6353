"""Many photos are chosen on the page, tagged and deleted."""

from __future__ import annotations

from typing import Any

from app.engine.engine import Engine
from tests.processes.waiting import eventually


def begin(page: Any) -> Any:
    page.get_by_role("button", name="Select", exact=True).click()
    return page.get_by_role("region", name="Selected photos")


def click(page: Any, name: str, **how: Any) -> None:
    page.locator(f"[data-id={name}] .stage").click(**how)


def chosen(page: Any) -> list[str]:
    ids: list[str] = page.locator("[data-id]:has(.tick :checked)").evaluate_all(
        "cards => cards.map((card) => card.dataset.id)"
    )
    return ids


def keywords(engine: Engine, *names: str) -> list[Any]:
    items = engine.catalog.get_many(engine.open("default"), names)
    return [items[name].metadata.get("keywords") for name in names]


def test_a_click_chooses_a_photo_and_shift_a_range(timeline: Any) -> None:
    bar = begin(timeline)
    assert bar.get_by_role("button", name="Delete").is_disabled()
    click(timeline, "p02")
    click(timeline, "p05", modifiers=["Shift"])
    click(timeline, "p03")
    assert chosen(timeline) == ["p02", "p04", "p05"]
    assert bar.locator(".number-chosen").inner_text() == "3 selected"
    assert not timeline.locator("#viewer").is_visible()
    bar.get_by_role("button", name="Done").click()
    assert timeline.locator(".tick").count() == 0
    click(timeline, "p02")
    timeline.get_by_role("dialog", name="p02").wait_for()


def test_photos_are_chosen_by_keyboard_and_escape_ends_it(timeline: Any) -> None:
    start = timeline.get_by_role("button", name="Select", exact=True)
    start.focus()
    timeline.keyboard.press("Enter")
    timeline.keyboard.press("Space")  # the first photo has the focus
    assert chosen(timeline) == ["p00"]
    timeline.get_by_role("button", name="Show more").click()
    timeline.locator("[data-id=p47] .tick").wait_for()
    timeline.keyboard.press("Control+a")
    assert len(chosen(timeline)) == 48
    timeline.keyboard.press("Escape")
    assert timeline.locator(".tick").count() == 0
    assert start.evaluate("button => button === document.activeElement")


def test_deleted_photos_leave_after_a_question(timeline: Any, photos: Engine, shown: Any) -> None:
    bar = begin(timeline)
    for name in ("p01", "p03"):
        click(timeline, name)
    bar.get_by_role("button", name="Delete").click()
    dialog = timeline.get_by_role("dialog", name="Delete 2 photos?")
    assert "The original files stay where they are" in dialog.inner_text()
    assert dialog.get_by_role("button", name="Cancel").evaluate(
        "button => button === document.activeElement"
    )
    dialog.get_by_role("button", name="Cancel").click()
    assert chosen(timeline) == ["p01", "p03"]
    bar.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    timeline.wait_for_selector(".remark:has-text('Deleted: 2 photos.')")
    assert timeline.locator(".done code").inner_text() == "tessera index deleted --restore-all"
    assert shown(timeline)[:3] == ["p00", "p02", "p04"]
    assert bar.is_hidden()
    assert len(photos.catalog.list_items(photos.open("default"), limit=100)) == 58


def test_all_shown_are_those_of_the_list_alone(timeline: Any) -> None:
    timeline.clock.set_fixed_time("2021-06-20T12:00:00")
    timeline.reload()
    of_this_day = timeline.get_by_role("region", name="On this day")
    of_this_day.wait_for()
    assert timeline.locator("#status").inner_text() == "24 of 60 photos"
    bar = begin(timeline)
    bar.get_by_role("button", name="All shown").click()
    assert bar.locator(".number-chosen").inner_text() == "24 selected"
    assert of_this_day.locator(".tick :checked").count() == 0
    of_this_day.locator("[data-id=p24]").click()
    assert bar.locator(".number-chosen").inner_text() == "25 selected"


def test_a_tag_is_added_once_and_can_be_undone(timeline: Any, photos: Engine) -> None:
    bar = begin(timeline)
    click(timeline, "p02")
    click(timeline, "p04", modifiers=["Shift"])
    bar.get_by_role("button", name="Add tag").click()
    dialog = timeline.get_by_role("dialog", name="Add a tag to 3 photos")
    dialog.get_by_label("Tag").fill("Holiday")
    dialog.get_by_role("button", name="Add").click()
    timeline.wait_for_selector(".remark:has-text('Added “Holiday” to 2 photos.')")
    assert keywords(photos, "p02", "p03", "p04") == [["holiday"], ["Holiday"], ["Holiday"]]
    timeline.get_by_role("button", name="Undo").click()
    timeline.wait_for_selector(".remark:has-text('Removed “Holiday” from 2 photos.')")
    assert keywords(photos, "p02", "p03", "p04") == [["holiday"], None, None]


def test_a_tag_is_taken_from_photos_and_refusals_are_named(timeline: Any, photos: Engine) -> None:
    bar = begin(timeline)
    for name in ("p00", "p01"):
        click(timeline, name)
    timeline.route("**/items/p01?*", lambda route: route.abort())
    bar.get_by_role("button", name="Remove tag").click()
    dialog = timeline.get_by_role("dialog", name="Remove a tag from 2 photos")
    assert dialog.locator("option").evaluate("option => option.value") == "holiday"
    dialog.get_by_label("Tag").fill("holiday")
    dialog.get_by_role("button", name="Remove").click()
    dialog.get_by_text("Not changed: 1 photo, such as p01: ").wait_for()
    assert keywords(photos, "p00", "p01") == [None, ["holiday"]]


def test_those_who_may_only_read_choose_nothing(timeline: Any, changed: Any, settled: Any) -> None:
    changed(timeline, "session", lambda body: body.update(role="read"))
    timeline.reload()
    settled(timeline)
    assert timeline.get_by_role("button", name="Select", exact=True).is_hidden()


def test_the_focus_goes_to_what_can_be_done_next(timeline: Any) -> None:
    def wait_for_focus(text: str) -> None:
        # Dialogs close, and give the focus away, after what they have done is shown.
        active = "document.activeElement.textContent"
        eventually(lambda: timeline.evaluate(active) == text, 60)

    bar = begin(timeline)
    click(timeline, "p02")
    bar.get_by_role("button", name="Add tag").click()
    timeline.get_by_label("Tag", exact=True).fill("sea")
    timeline.keyboard.press("Enter")
    timeline.locator("#bulk").wait_for(state="hidden")
    wait_for_focus("Undo")
    timeline.keyboard.press("Enter")
    timeline.wait_for_selector(".remark:has-text('Removed “sea”')")
    wait_for_focus("Undo")
    begin(timeline)
    click(timeline, "p02")
    bar.get_by_role("button", name="Delete").click()
    timeline.get_by_role("dialog").get_by_role("button", name="Delete").click()
    timeline.locator("#bulk").wait_for(state="hidden")
    wait_for_focus("Undo")
    timeline.keyboard.press("Enter")
    timeline.wait_for_selector(".remark:has-text('Of no folder, or back already: p02.')")
    wait_for_focus("Select")


def test_photos_are_named_by_their_files_and_dates(timeline: Any) -> None:
    name = "IMG_3.HEIC, Monday, 10 May 2021, 15:22"
    assert timeline.get_by_role("button", name=name).count() == 1
    begin(timeline)
    timeline.get_by_role("checkbox", name=f"Select {name}").check()
    assert chosen(timeline) == ["p03"]


def test_each_photo_is_one_stop_while_photos_are_chosen(timeline: Any, search: Any) -> None:
    search(timeline, "red")
    controls = "[...document.querySelectorAll('#results :is(a, button, [tabindex])')]"
    stops = f"{controls}.map((control) => control.tabIndex)"
    before = timeline.evaluate(stops)
    begin(timeline)
    names = []
    for _ in range(3):
        names.append(timeline.evaluate("document.activeElement.ariaLabel"))
        timeline.keyboard.press("Tab")
    boxes = timeline.get_by_role("checkbox", name="Select").all()[:3]
    assert names == [box.get_attribute("aria-label") for box in boxes]
    timeline.keyboard.press("Escape")
    assert timeline.evaluate(stops) == before

"""The page and its manifest below a path of a proxy."""

from tests.outside.proxies import cut_off


def test_photos_show_behind_a_proxy_that_no_setting_names(browser, site, watched):
    with cut_off("/shop", site) as below, watched(browser, below.removesuffix("/shop")) as page:
        with page.expect_response(lambda answer: "/items/" in answer.url) as photo:
            page.goto("/shop/?q=cat")
        assert (photo.value.status, photo.value.headers["content-type"]) == (200, "image/webp")
        page.wait_for_load_state("networkidle")


def test_the_page_can_be_installed_there(browser, site, watched):
    with cut_off("/shop", site) as below, watched(browser, below.removesuffix("/shop")) as page:
        page.goto("/shop/")
        page.wait_for_load_state("networkidle")
        client = page.context.new_cdp_session(page)
        read = client.send("Page.getAppManifest")
        assert read["errors"] == []
        assert read["manifest"]["startUrl"] == read["manifest"]["scope"] == f"{below}/"
        errors = client.send("Page.getInstallabilityErrors")["installabilityErrors"]
        assert {error["errorId"] for error in errors} <= {"in-incognito"}  # as tests are
        for icon in read["manifest"]["icons"]:
            answer = page.request.get(icon["url"])
            assert (answer.status, answer.headers["content-type"]) == (200, icon["type"])

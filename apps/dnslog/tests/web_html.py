"""The markup of a page, for tests about names that try to become markup."""

from html.parser import HTMLParser
from typing import Final

# Every element that the templates use.
OURS: Final = {
    "html", "head", "meta", "title", "link", "script", "body", "div", "a", "nav", "ul", "li", "ol",
    "span", "svg", "path", "rect", "line", "text", "header", "details", "summary", "p", "form",
    "input", "button", "main", "section", "h1", "h2", "dl", "dt", "dd", "noscript", "table",
    "thead", "tbody", "tr", "th", "td", "label", "select", "option", "datalist", "textarea",
    "fieldset", "legend", "foreignobject", "time", "bdi", "i", "b", "code", "strong", "del", "ins",
}  # fmt: skip


class Markup(HTMLParser):
    """The elements of a page, and all that the policy of the pages forbids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.forbidden: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attributes)
        if tag == "style" or (tag == "script" and not given.get("src")):
            self.forbidden.append(f"<{tag}>")
        for name, value in attributes:
            leads = name in ("href", "src", "action") and not (value or "").startswith(
                ("/", "?", "#")
            )
            if name.startswith("on") or name == "style" or leads:
                self.forbidden.append(f"<{tag} {name}={value}>")

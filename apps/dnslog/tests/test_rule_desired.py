"""Rules as text, as filter lines, and as a demand on protection."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.dnslog.tests.rule_examples import custom, draft, protection, rule_set, stored
from fairlane_dnslog.rules.block import (
    END,
    comment_of,
    filter_lines,
    find_lines,
    make_block,
    with_block,
)
from fairlane_dnslog.rules.client_names import checked_client, client_modifier
from fairlane_dnslog.rules.desired import Desired, desired_state, next_boundary
from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.rules.rule import (
    BrokenRule,
    Detail,
    Kind,
    RuleDraft,
    RuleSet,
    checked_draft,
)
from fairlane_dnslog.rules.window import Window, once

SERVICES = {
    "youtube": ["||youtube.com^", "||ytimg.com^"],
    "tiktok": ["||tiktok.com^"],
    "relay": ["||mask.icloud.com^$dnsrewrite=NXDOMAIN;;"],
    "expression": [r"/^ads?[0-9]+\.example$/"],
    "broken": ["! fairlane-dnslog end", "||a.example^\n||b.example^", "# note", "@@||c.example^"],
}


def lines_of(*drafts: RuleDraft, at: float = 0.0, server: str = "home") -> tuple[str, ...]:
    return filter_lines(state_of(*drafts, at=at, server=server).lines)


def state_of(*drafts: RuleDraft, at: float = 0.0, server: str = "home") -> Desired:
    return desired_state(rule_set(*drafts), server=server, at=at, services=SERVICES)


# lines


def test_services_become_sorted_lines_each_after_a_comment_with_its_rules() -> None:
    state = state_of(draft("B", services=("youtube",)), draft("A", services=("youtube", "tiktok")))
    assert filter_lines(state.lines) == ("||tiktok.com^", "||youtube.com^", "||ytimg.com^")
    for comment, line in zip(state.lines[::2], state.lines[1::2], strict=True):
        names = ["A"] if "tiktok" in line else ["A", "B"]
        assert comment == comment_of(line, names)
        assert comment.endswith(": " + ", ".join(names))


def test_the_state_does_not_depend_on_the_order_of_the_rules() -> None:
    a, b = draft("A"), custom("B", "||z.example^", "||a.example^")
    assert state_of(a, b).lines == state_of(b, a).lines


def test_only_rules_in_force_on_this_server_count() -> None:
    assert lines_of(draft(enabled=False)) == ()
    assert lines_of(draft(servers=("office",))) == ()
    assert lines_of(draft(servers=("office", "home"))) != ()
    assert lines_of(draft(window=once(from_at=10, seconds=10)), at=9) == ()
    assert lines_of(draft(window=once(from_at=10, seconds=10)), at=10) != ()


def test_a_rule_for_clients_has_the_client_modifier() -> None:
    blocked = draft(services=("tiktok",), clients=("Kid's, tablet", "192.168.1.7", "fe80::/64"))
    assert lines_of(blocked) == (r"||tiktok.com^$client=192.168.1.7|'Kid\'s\, tablet'|fe80::/64",)


def test_an_allowed_service_becomes_exceptions_also_from_rewrites() -> None:
    allowed = draft(kind=Kind.ALLOW_SERVICES, services=("relay", "tiktok"))
    assert lines_of(allowed) == (
        "@@||mask.icloud.com^",
        "@@||mask.icloud.com^$dnsrewrite",
        "@@||tiktok.com^",
    )


def test_modifiers_of_a_service_are_combined_with_the_clients() -> None:
    assert lines_of(draft(services=("relay", "expression"), clients=("TV",))) == (
        r"/^ads?[0-9]+\.example$/$client='TV'",
        "||mask.icloud.com^$dnsrewrite=NXDOMAIN;;,client='TV'",
    )


def test_services_and_lines_that_cannot_be_used_are_reported() -> None:
    state = state_of(draft(services=("nosuch", "broken", "tiktok")))
    assert filter_lines(state.lines) == ("||tiktok.com^",)
    assert len(state.problems) == 5
    assert sum('does not know the service "nosuch"' in text for text in state.problems) == 1


def test_a_client_name_that_adguard_cannot_read_is_reported() -> None:
    assert "Küche" in state_of(draft(clients=("Küche",))).problems[0]


def test_an_unreadable_row_is_reported() -> None:
    broken = BrokenRule(id=3, name="Night", problem="no JSON", revision="")
    state = desired_state(RuleSet(version=1, broken=(broken,)), server="a", at=0, services={})
    assert state.problems == ('the stored rule "Night" is not readable: no JSON',)


# protection


def test_the_rule_that_was_changed_last_decides_about_protection() -> None:
    on, off = protection("on", on=True), protection("off", on=False)
    assert state_of(on, off).protection.state == "off"
    assert state_of(off, on).protection.state == "on"
    assert state_of(draft()).protection.state == "untouched"


def test_protection_is_off_until_no_rule_demands_it() -> None:
    first = protection("a", on=False, window=once(from_at=0, seconds=100))
    second = protection("b", on=False, window=once(from_at=90, seconds=60))
    assert state_of(first, second, at=5).protection.until == 150
    third = protection("c", on=True, window=once(from_at=120, seconds=10))
    assert state_of(first, second, third, at=5).protection.until == 120
    assert state_of(protection("d", on=False), at=5).protection.until is None


def test_the_next_boundary_is_the_first_of_all_enabled_rules() -> None:
    rules = [
        stored(draft(window=once(from_at=50, seconds=10))),
        stored(draft(window=once(from_at=20, seconds=10), enabled=False)),
        stored(draft(window=once(from_at=10, seconds=60))),
        stored(draft()),
    ]
    assert [next_boundary(rules, after=at) for at in (0, 10, 50, 60, 70)] == [10, 50, 60, 70, None]


# names of clients


def clients_of_adguard(line: str) -> list[str]:
    """Return the clients of a line as AdGuard Home's parser finds them (urlfilter, `rules/`)."""
    cut = next(
        place for place in range(len(line) - 2, -1, -1)
        if line[place] == "$" and line[place - 1] != "\\"
    )  # fmt: skip
    values = [
        option.removeprefix("client=")
        for option in split_with_escape(line[cut + 1 :], ",")
        if option.startswith("client=")
    ]
    found = []
    for client in split_with_escape(values[0], "|"):
        assert not client.startswith("~")
        if len(client) >= 2 and client[0] in "'\"" and client[0] == client[-1]:
            quote, client = client[0], client[1:-1]
            client = client.replace("\\,", ",").replace("\\" + quote, quote)
        found.append(client)
    return found


def split_with_escape(text: str, separator: str) -> list[str]:
    parts, part, is_escaped = [], "", False
    for character in text:
        if character == "\\":
            is_escaped = True
        elif character == separator and not is_escaped:
            parts += [part] if part else []
            part = ""
        else:
            part += ("\\" if is_escaped and character != separator else "") + character
            is_escaped = False
    return parts + ([part] if part else [])


NAMES = st.text(st.sampled_from("aZ09 '\",|~-_.:/#=^@!%()[]*&;"), min_size=1, max_size=12)


@settings(max_examples=200, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=4))
def test_adguard_finds_the_names_that_were_given(names: list[str]) -> None:
    clients = set()
    for name in names:
        try:
            clients.add(checked_client(name))
        except InvalidRule:
            continue  # refused, not written wrongly
    if not clients:
        return
    line = f"||example.org^${client_modifier(clients)}"
    assert clients_of_adguard(line) == sorted(clients)
    assert not re.search(r"#[@$?%]*#", line)


@pytest.mark.parametrize("name", ["back\\slash", "cost$", "a##b", "", " ", "a\nb", "x" * 101])
def test_a_name_that_no_line_can_hold_is_refused(name: str) -> None:
    with pytest.raises(InvalidRule):
        checked_client(name)


# validation


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (draft(""), "name"),
        (draft("x" * 101), "name"),
        (draft("two\nlines"), "name"),
        (draft("\u202eesrever"), "name"),
        (draft(services=()), "services"),
        (draft(services=("You Tube",)), "services"),
        (draft(services=("nosuch",)), "services"),
        (draft(services=tuple(f"s{n}" for n in range(501))), "services"),
        (draft(clients=tuple(f"c{n}" for n in range(51))), "clients"),
        (draft(servers=("elsewhere",)), "servers"),
        (draft(kind=Kind.PROTECTION_OFF), "services"),
        (draft(detail=Detail(services=("tiktok",), lines=("||a^",))), "lines"),
        (draft(window=Window(timezone="Nowhere")), "timezone"),
        (custom("c"), "lines"),
        (custom("c", "||a^\n||b^"), "lines"),
        (custom("c", "||a^\r"), "lines"),
        (custom("c", "||a^\u2028||b^"), "lines"),
        (custom("c", "  !  FAIRLANE-dnslog end"), "lines"),
        (custom("c", END), "lines"),
        (custom("c", "x" * 1001), "lines"),
        (custom("c", *(f"||{n}.example^" for n in range(501))), "lines"),
        (custom("c", *(f"||{n:900d}" for n in range(60))), "lines"),
    ],
)
def test_a_rule_that_is_not_acceptable_is_refused_with_the_name_of_its_field(
    bad: RuleDraft, field: str
) -> None:
    with pytest.raises(InvalidRule) as refused:
        checked_draft(bad, known_services=SERVICES, known_servers=["home"])
    assert refused.value.field == field


def test_a_checked_rule_has_a_normal_form() -> None:
    given_ = draft(" Homework ", services=("youtube", "tiktok", "youtube"), clients=("b", "a"))
    checked = checked_draft(given_)
    assert checked.name == "Homework"
    assert checked.detail == Detail(services=("tiktok", "youtube"), clients=("a", "b"))
    assert checked_draft(checked) == checked


def test_custom_lines_stay_in_the_order_of_their_author() -> None:
    assert checked_draft(custom("c", "||z^", "||a^", "||z^")).detail.lines == ("||z^", "||a^")


# our block among foreign lines

OURS = ("||tiktok.com^", "||youtube.com^", "/a$/")
FOREIGN = ("||admin.example^", "", "! a comment", "||tiktok.com^", "@@||x.example^")


def our_block() -> list[str]:
    lines: list[str] = []
    for line in OURS:
        lines += [comment_of(line, ["Rule"]), line]
    return list(make_block(lines))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_block_heals_and_no_foreign_line_is_lost(data: st.DataObject) -> None:
    """A person deletes lines of up to two blocks, and has lines everywhere."""
    rules: list[tuple[str, bool]] = []
    for _ in range(data.draw(st.integers(0, 2))):
        rules += [(line, True) for line in our_block()]
    dropped = data.draw(st.sets(st.integers(0, len(rules))))
    # A deleted comment makes its line foreign, unless the line is known: the line goes, too.
    dropped |= {
        number + 1 for number in dropped if number < len(rules) and is_comment(rules[number])
    }
    rules = [rule for number, rule in enumerate(rules) if number not in dropped]
    for _ in range(data.draw(st.integers(0, 6))):
        place = data.draw(st.integers(0, len(rules)))
        follows = place > 0 and is_comment(rules[place - 1])
        foreign = data.draw(st.sampled_from(FOREIGN))
        # The same line at the same place cannot be told from ours.
        if not (follows and foreign in OURS):
            rules.insert(place, (foreign, False))
    present = [line for line, _ in rules]
    found = find_lines(present)
    assert [*found.before, *found.after] == [
        line for number, (line, is_ours) in enumerate(rules)
        if not is_ours or is_orphan(rules, number)
    ]  # fmt: skip
    healed = with_block(found, our_block())
    again = find_lines(healed)
    assert list(again.ours) == our_block()
    assert with_block(again, our_block()) == healed
    assert with_block(find_lines(healed), ()) == [*found.before, *found.after]


def is_comment(rule: tuple[str, bool]) -> bool:
    return rule[0].startswith("! fairlane-dnslog rule")


def is_orphan(rules: list[tuple[str, bool]], number: int) -> bool:
    """Return whether a foreign line came between a line of ours and its comment."""
    line = rules[number][0]
    return line in OURS and not (number > 0 and is_comment(rules[number - 1]))


def test_a_known_line_without_its_comment_is_ours_only_inside_the_block() -> None:
    lines = [line for line in our_block() if not is_comment((line, True))]
    found = find_lines(["||youtube.com^", *lines, "||tiktok.com^"], written=OURS)
    assert (found.before, found.ours, found.after) == (
        ("||youtube.com^",),
        tuple(lines),
        ("||tiktok.com^",),
    )
    without_end = find_lines(lines[:-1], written=OURS)
    assert without_end.after == OURS  # it might be the administrator's


@pytest.mark.parametrize(
    "comment",
    [
        "! fairlane-dnslog is on the small computer",
        "! Fairlane-dnslog END",
        "! fairlane-dnslog rule: x",
        "! fairlane-dnslog begin: my own notes",
    ],
)
def test_a_comment_of_a_person_that_begins_like_ours_stays(comment: str) -> None:
    found = find_lines([comment, *our_block(), comment])
    assert (found.before, found.after) == ((comment,), (comment,))


@pytest.mark.parametrize("change", [str.upper, lambda line: line + "x"])
def test_a_line_that_was_changed_by_hand_stays(change: Callable[[str], str]) -> None:
    block = our_block()
    block[2] = change(block[2])
    assert find_lines(block).after == (block[2],)

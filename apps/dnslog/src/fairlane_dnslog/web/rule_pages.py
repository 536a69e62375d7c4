"""The rules: list, week and editor."""

import time
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final
from zoneinfo import available_timezones

from flask import Blueprint, flash, redirect, render_template, request, url_for

from fairlane_dnslog.rules.errors import InvalidRule, RuleNotFound, StaleRule, TooManyRules
from fairlane_dnslog.rules.rule import BrokenRule, Kind, Rule, RuleDraft
from fairlane_dnslog.rules.rule_store import load_rules
from fairlane_dnslog.rules.window import WEEKDAYS, boundary_after, is_active, once
from fairlane_dnslog.web.client_choices import offered_clients, read_client_choices
from fairlane_dnslog.web.formats import short_text
from fairlane_dnslog.web.language import text
from fairlane_dnslog.web.refused import Refused
from fairlane_dnslog.web.rule_form import RuleForm, form_of_request, form_of_rule
from fairlane_dnslog.web.rule_presets import PAUSE_MINUTES, PRESETS, pause_names, preset_form
from fairlane_dnslog.web.rule_problems import problem_of
from fairlane_dnslog.web.server_troubles import read_troubles
from fairlane_dnslog.web.visitor import for_editors, for_readers, program, visitor
from fairlane_dnslog.web.week_view import week_days, week_of

_RULE: Final = "<int(max=9223372036854775807):rule>"  # the ids of the databases

blueprint = Blueprint("rules", __name__, url_prefix="/rules")


@blueprint.get("")
@for_readers
def show() -> str:
    zone, now = program().settings.zone, time.time()
    known = program().current_rules()
    monday = week_of(request.args.get("week", ""), datetime.fromtimestamp(now, zone).date())
    active = {rule.id for rule in known.rules if rule.enabled and is_active(rule.window, now)}
    return render_template(
        "rules.html",
        rules=sorted(known.rules, key=lambda rule: (rule.id not in active, not rule.enabled)),
        broken=known.broken,
        active=active,
        changes={rule.id: _next_change(rule, now) for rule in known.rules if rule.enabled},
        week=week_days(known.rules, monday=monday, zone=zone, now=now),
        week_before=(monday - timedelta(days=7)).strftime("%G-W%V"),
        week_after=(monday + timedelta(days=7)).strftime("%G-W%V"),
        is_this_week=not request.args.get("week"),
        weekdays=WEEKDAYS,
        presets=PRESETS,
        pause_minutes=PAUSE_MINUTES,
        zone=program().settings.timezone,
        version=known.version,
        unreached=_unreached(now),
    )


def _unreached(now: float) -> list[str]:
    """Return the servers to which the rules cannot be applied at present."""
    return [one.server for one in read_troubles(now) if one.state in ("paused", "failing")]


def _next_change(rule: Rule, now: float) -> float | None:
    return boundary_after(rule.window, now)


@blueprint.get("/new")
@for_editors
def new() -> str:
    services = [(one.id, one.group) for one in program().services()]
    form = preset_form(request.args.get("preset", ""), services, program().settings.timezone)
    return _editor(form)


@blueprint.post("/new")
@for_editors
def create() -> Any:
    return _save(None)


@blueprint.post("/pause")
@for_editors
def pause() -> Any:
    """Store the rule "protection off" that starts now and ends by itself."""
    given = request.form.get("minutes", "")
    if given not in {str(minutes) for minutes in PAUSE_MINUTES}:
        raise Refused(400, "error.filter", field="minutes", value=given[:40])
    draft = RuleDraft(
        name=text("preset.pause", minutes=given),
        kind=Kind.PROTECTION_OFF,
        window=once(from_at=float(int(time.time())), seconds=int(given) * 60),
    )
    earlier = _earlier_pause()
    try:
        if earlier is None:
            program().save_rule(draft, actor=visitor().name)
        else:
            program().save_rule(
                draft, actor=visitor().name, rule=earlier.id, revision=earlier.revision
            )
    except TooManyRules as error:
        raise Refused(409, "error.too_many_rules", count=error.limit) from None
    except StaleRule as error:
        raise Refused(409, "error.stale", name=error.changed_by or "SQL") from None
    except RuleNotFound:
        raise Refused(404, "error.no_rule") from None
    flash(text("rules.paused", minutes=given))
    return redirect(url_for("rules.show"), 303)


def _earlier_pause() -> Rule | None:
    """Return the rule of an earlier pause, which the next one replaces: a family that pauses
    protection every day must not collect rules."""
    with program().database.reading() as tx:
        rules = load_rules(tx).rules
    names = pause_names(PAUSE_MINUTES)
    for rule in rules:
        is_pause = rule.kind is Kind.PROTECTION_OFF and rule.name in names and not rule.servers
        if is_pause and rule.window.until_at is not None and not rule.window.start:
            return rule
    return None


@blueprint.get(f"/{_RULE}")
@for_readers
def edit(rule: int) -> str:
    stored = _stored(rule)
    if isinstance(stored, BrokenRule):
        raise Refused(409, "error.broken_rule", name=stored.name, problem=stored.problem)
    return _editor(form_of_rule(stored, revision=stored.revision), rule=stored)


@blueprint.post(f"/{_RULE}")
@for_editors
def change(rule: int) -> Any:
    return _save(rule)


@blueprint.post(f"/{_RULE}/enabled")
@for_editors
def enable(rule: int) -> Any:
    enabled = request.form.get("enabled") == "yes"
    revision = request.form.get("revision", "")[:100]
    try:
        stored = program().enable_rule(
            rule, enabled=enabled, revision=revision, actor=visitor().name
        )
    except StaleRule as error:
        raise Refused(409, "error.stale", name=error.changed_by or "SQL") from None
    except RuleNotFound:
        raise Refused(404, "error.no_rule") from None
    flash(text("rules.enabled_now" if enabled else "rules.disabled_now", name=stored.name))
    return redirect(url_for("rules.show"), 303)


@blueprint.get(f"/{_RULE}/delete")
@for_editors
def confirm_delete(rule: int) -> str:
    return render_template("rule_delete.html", rule=_stored(rule))


@blueprint.post(f"/{_RULE}/delete")
@for_editors
def delete(rule: int) -> Any:
    revision = request.form.get("revision", "")[:100]
    try:
        program().delete_rule(rule, revision=revision, actor=visitor().name)
    except StaleRule as error:
        raise Refused(409, "error.stale", name=error.changed_by or "SQL") from None
    except RuleNotFound:
        pass  # another person was faster
    flash(text("rules.deleted"))
    return redirect(url_for("rules.show"), 303)


def _stored(rule: int) -> Rule | BrokenRule:
    """Return a rule as the database has it now, which may be newer than this process knows."""
    found = _find_stored(rule)
    if found is None:
        raise Refused(404, "error.no_rule")
    return found


def _find_stored(rule: int) -> Rule | BrokenRule | None:
    with program().database.reading() as tx:
        known = load_rules(tx)
    stored: list[Rule | BrokenRule] = [*known.rules, *known.broken]
    return next((one for one in stored if one.id == rule), None)


def _save(rule: int | None) -> Any:
    form = form_of_request(request.form, request.form.getlist)
    actor = visitor().name
    before = None if rule is None else _find_stored(rule)
    try:
        draft = form.draft(before.window if isinstance(before, Rule) else None)
        stored = program().save_rule(draft, actor=actor, rule=rule, revision=form.revision)
    except InvalidRule as error:
        return _editor(form, rule=before, problem=error), 400
    except TooManyRules as error:
        raise Refused(409, "error.too_many_rules", count=error.limit) from None
    except RuleNotFound:
        form.revision = ""  # it can be saved as a new rule
        return _editor(form, gone=True), 409
    except StaleRule:
        assert rule is not None
        other = _stored(rule)
        form.revision = other.revision  # the person has seen the other text from now on
        return _editor(form, rule=other, is_stale=True), 409
    flash(_saved_text(stored, time.time()))  # the page names the servers that it does not reach
    return redirect(url_for("rules.show"), 303)


def _saved_text(rule: Rule, now: float) -> str:
    """Tell whether a saved rule is in force now, or when it starts."""
    if not rule.enabled:
        return text("rules.saved_disabled", name=rule.name)
    change = boundary_after(rule.window, now)
    if not is_active(rule.window, now):
        if change is None:
            return text("rules.saved_over", name=rule.name)
        return text("rules.saved_later", name=rule.name, time=short_text(change))
    if change is None:
        return text("rules.saved_active", name=rule.name)
    return text("rules.saved_until", name=rule.name, time=short_text(change))


@cache
def _offered_zones() -> list[str]:
    """Return the zones that are places; the others are old names and offsets."""
    places = (name for name in available_timezones() if "/" in name)
    return ["UTC", *sorted(name for name in places if not name.startswith(("Etc/", "US/")))]


def _editor(
    form: RuleForm,
    *,
    rule: Rule | BrokenRule | None = None,
    problem: InvalidRule | None = None,
    is_stale: bool = False,
    gone: bool = False,
) -> str:
    services = program().services()
    groups = sorted({service.group for service in services})
    known = {service.id for service in services}
    listed = " ".join(service for service in form.services if service not in known)
    form.more_services = f"{form.more_services} {listed}".strip()
    with program().database.reading() as tx:
        clients = read_client_choices(tx)
    known_servers = [one.name for one in program().settings.servers]
    return render_template(
        "rule_edit.html",
        form=form,
        rule=rule,
        problem=None if problem is None else problem_of(problem),
        is_stale=is_stale,
        gone=gone,
        groups=[(group, [one for one in services if one.group == group]) for group in groups],
        clients=offered_clients(clients, program().client_names()),
        kinds=list(Kind),
        weekdays=WEEKDAYS,
        servers=list(dict.fromkeys([*known_servers, *form.servers])),  # also removed ones
        known_servers=known_servers,
        timezones=_offered_zones(),
    )

"""Checks of what is elsewhere: the models, the platforms, and who may talk there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from gateway.cli.checks import Finding, of_config
from gateway.cli.probes import model_reports, platforms
from gateway.errors import AdapterError, ConfigError

if TYPE_CHECKING:
    from gateway.cli.status import Standing
    from gateway.config import Account, Config
    from gateway.llm.models import Report

SECONDS = 15.0
"""How long a service may take to answer."""
NAMED = 12
"""Models that a finding lists."""
PROVEN = {"webchat", "webhook"}
"""Platforms that say themselves who may speak."""


async def check_models(config: Config) -> AsyncIterator[Finding]:
    """Check that every model of the settings has an endpoint that answers, and is one of its."""
    why = "without a model there are no answers"
    try:
        async with asyncio.timeout(SECONDS), model_reports(config) as reports:
            found = await reports()
    except TimeoutError:
        problem = f"the endpoints did not answer within {SECONDS:g} s"
        yield Finding("model", problem, why, "check model.base_url and the network")
        return
    except ConfigError as error:
        for finding in of_config(error, "model", why):
            yield finding
        return
    for report in found:
        if report.problem:
            yield Finding(report.setting, report.problem, why, _mend_model(report, config))


def _mend_model(report: Report, config: Config) -> str:
    main = report.setting == "model"
    if report.models and report.model not in report.models:
        names = ", ".join(report.models[:NAMED]) + (", …" if len(report.models) > NAMED else "")
        place = "hermes-gateway config set model.default NAME" if main else f"{report.setting}.model"
        return f"{place}, with one of {names}"
    if not main:
        return f"mend {report.setting} in {config.home.config_file}"
    if config.settings.model.offline:
        return "pip install 'hermes-gateway[local]', or hermes-gateway config set model.base_url URL"
    if "api_key" in report.problem:
        return "hermes-gateway config set model.api_key"
    return "hermes-gateway config set model.base_url URL"


async def check_accounts(config: Config, standing: Standing | None) -> AsyncIterator[Finding]:
    """Check that every platform knows our account: by its adapter, or by asking the gateway that runs."""
    accounts = [account for account in config.accounts if account.enabled]
    told = await asyncio.to_thread(platforms, config, SECONDS, running=standing is None or bool(standing.gateways))
    by_name = {probe.what: probe for probe in told}
    for account in accounts:
        problem = await _problem_of(account)
        if not problem and by_name[account.name].ok is False:
            problem = by_name[account.name].detail
        if problem:
            yield Finding(account.name, problem, "nobody is heard there", mend_account(account))


async def _problem_of(account: Account) -> str:
    """Ask the platform through its adapter; empty where nothing is wrong."""
    from gateway.app.platforms import make_adapters

    try:
        for adapter in make_adapters([account]).values():
            async with asyncio.timeout(SECONDS), adapter:
                await adapter.check()
    except TimeoutError:
        return f"the platform did not answer within {SECONDS:g} s"
    except (AdapterError, ConfigError) as error:
        return str(error)
    return ""


def mend_account(account: Account) -> str:
    """Return what sets the tokens of an account."""
    inside = f"accounts.{account.account}." if account.account else ""
    names = [name for name in type(account.settings).model_fields if name.endswith("token")]
    return "; ".join(f"hermes-gateway config set platforms.{account.platform}.{inside}{name}" for name in names) or (
        f"mend platforms.{account.platform}"
    )


async def check_access(config: Config, standing: Standing | None) -> AsyncIterator[Finding]:
    """Check that on every platform there is somebody who may talk; where the owners cannot be read, nobody can say."""
    from gateway.app.plan import plan_of

    try:
        rules = plan_of(config).rules
    except ConfigError:
        return  # told by the check of the plan
    if rules.allow_all or standing is None:
        return
    known = rules.owners | standing.owners
    for account in config.accounts:
        listed = rules.platforms.get(account.name)
        open_to = bool(listed and (listed.users or listed.chats))
        if not account.enabled or account.platform in PROVEN or open_to or _any_of(known, account.platform):
            continue
        inside = f"accounts.{account.account}." if account.account else ""
        key = f"platforms.{account.platform}.{inside}allowed_users"
        mend = f"hermes-gateway config set {key} ID; a refused person is told their ID"
        yield Finding("access", f"nobody may talk on {account.name}", "everybody is refused until allowed", mend)


def _any_of(people: frozenset[str], platform: str) -> bool:
    return any(person.startswith(f"{platform}:") for person in people)

"""``doctor``: what keeps the gateway from working, why it matters, and what mends it. Looks only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from gateway.cli import exits
from gateway.cli.command import command
from gateway.cli.output import Output

if TYPE_CHECKING:
    from gateway.cli.checks import Finding
    from gateway.config import Config
    from gateway.home import Home
    from gateway.log.redact import Redactor


@dataclass(slots=True)
class Report:
    """What was checked, what was found, and what is worth a word all the same."""

    checked: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    async def run(self, name: str, findings: AsyncIterator[Finding]) -> None:
        """Make a check."""
        self.checked.append(name)
        async for finding in findings:
            self.findings.append(finding)

    async def profile(self, name: str, config: Config, ours: Config) -> None:
        """Check what a profile has of its own."""
        from gateway.cli.checks import context, machine, notes, services, told

        said = len(self.findings)
        await self.run(f"home of {name}", machine.check_home(config.home))
        if config.settings.model != ours.settings.model:
            await self.run(f"model of {name}", services.check_models(config))
        if config.settings.terminal != ours.settings.terminal:
            await self.run(f"terminal of {name}", machine.check_terminal(config))
        await self.run(f"window of {name}", context.check_window(config))
        await self.run(f"context engine of {name}", context.check_engine(config))
        await self.run(f"identity of {name}", told.check_soul(config.home))
        await self.run(f"skills of {name}", told.check_skills(config))
        await self.run(f"memory of {name}", notes.check_notes(config))
        await self.run(f"memory service of {name}", notes.check_provider(config))
        self.findings[said:] = [_of(name, config.home, finding) for finding in self.findings[said:]]


@command("doctor")
def doctor(output: Output) -> int:
    """
    Check settings, homes, the database, models, platforms, the sandbox, skills and notes, those of every profile too.

    Each finding says what is wrong, why it matters, and the command or setting that mends it. Nothing is changed. Exit
    code 0 where all is well, 1 where something was found.
    """
    from pathlib import Path

    from gateway.config import find_home

    home = find_home(Path(output.options.home) if output.options.home else None)
    report, redact = asyncio.run(_examine(home))
    report.findings = [_redacted(finding, redact) for finding in report.findings]
    document = {
        "ok": not report.findings,
        "home": str(home.path),
        "checked": report.checked,
        "findings": [asdict(finding) for finding in report.findings],
        "notes": report.notes,
    }
    output.answer(document, _lines(report))
    return exits.FAILURE if report.findings else exits.OK


async def _examine(home: Home) -> tuple[Report, Redactor]:
    """Check what can be checked: without a valid configuration that is little."""
    from gateway.cli.checks import context, machine, notes, of_config, services, told
    from gateway.config import load
    from gateway.errors import ConfigError
    from gateway.log.redact import Redactor

    report = Report()
    config: Config | None = None
    try:
        config = load(home.path)
    except ConfigError as error:
        report.findings += of_config(error, "configuration", "the gateway does not start")
    await report.run("configuration", machine.check_plan(config) if config else _nothing())
    await report.run("home", machine.check_home(home))
    await report.run("disk", machine.check_disk(home))
    if config is None:
        return report, Redactor()
    report.notes += config.warnings
    await report.run("database", machine.check_database(config))
    standing = await machine.look(config)
    for name, check in {
        "web": machine.check_port(config, standing),
        "model": services.check_models(config),
        "window": context.check_window(config),
        "context engine": context.check_engine(config),
        "platforms": services.check_accounts(config, standing),
        "deliveries": machine.check_given_up(standing),
        "terminal": machine.check_terminal(config),
        "identity": told.check_soul(home),
        "skills": told.check_skills(config),
        "memory": notes.check_notes(config),
        "memory service": notes.check_provider(config),
        "access": services.check_access(config, standing),
    }.items():
        await report.run(name, check)
    for name, own in config.profiles.items():
        await report.profile(name, own, config)
    return report, Redactor(config.secrets)


def _of(name: str, home: Home, finding: Finding) -> Finding:
    """Say of which profile a finding is, and mend it there."""
    mend = finding.mend.replace("hermes-gateway config set", f"hermes-gateway config set --home {home.path}")
    return replace(finding, about=f"{name}: {finding.about}", mend=mend)


async def _nothing() -> AsyncIterator[Finding]:
    return
    yield


def _redacted(finding: Finding, redact: Redactor) -> Finding:
    return replace(finding, problem=redact(finding.problem), mend=redact(finding.mend))


def _lines(report: Report) -> Iterator[str]:
    from gateway.cli.listing import counted, one_line

    for finding in report.findings:
        yield f"{finding.about}: {one_line(finding.problem, 1000)}"
        yield f"  why   {finding.why}"
        yield f"  mend  {one_line(finding.mend, 1000)}"
        yield ""
    for note in report.notes:
        yield f"note: {one_line(note, 1000)}"
    yield f"{counted(len(report.findings), 'finding')}; checked: {', '.join(report.checked)}"

"""What probes and operators are told."""

from __future__ import annotations

import asyncio

from gateway.errors import StorageError
from gateway.metrics import Metrics
from gateway.web.settings import WebSettings
from tests.unit.web.conftest import Message, Office


async def fine() -> None:
    return


async def broken() -> None:
    raise StorageError("the disk is full")


async def stuck() -> None:
    await asyncio.Event().wait()


async def test_ready_when_every_check_passes(office: Office) -> None:
    async with office.browser(office.with_site(checks={"database": fine, "bus": fine})) as probe:
        answer = await probe.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_a_check_that_fails_is_named_with_its_reason(office: Office) -> None:
    async with office.browser(office.with_site(checks={"database": broken, "bus": fine})) as probe:
        answer = await probe.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "not ready", "failed": {"database": "the disk is full"}}


async def test_a_check_that_never_answers_fails(office: Office) -> None:
    async with office.browser(office.with_site(checks={"bus": stuck}, check_seconds=0.01)) as probe:
        answer = await probe.get("/readyz")
    assert answer.json()["failed"] == {"bus": "no answer within 0.01 s"}


async def test_where_there_is_a_password_a_failed_check_is_not_described(office: Office) -> None:
    async with office.browser(office.with_site(checks={"database": broken}, password="x"), peer="10.0.0.9") as probe:
        answer = await probe.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "not ready"})


async def test_while_draining_we_live_but_are_not_ready_and_take_nothing(office: Office, message: Message) -> None:
    async with office.browser(office.with_site(draining=lambda: True)) as browser:
        await browser.get("/")
        assert (await browser.get("/healthz")).status_code == 200
        answer = await browser.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (503, "draining")
        refused = await browser.post("/chat/messages", json=message("hi"))
        assert refused.status_code == 503
        assert "shutting down" in refused.json()["error"]
        assert (await browser.get("/chat/conversation")).status_code == 200
    assert office.events == []


async def test_started_only_once_everything_is(office: Office) -> None:
    ready = False
    async with office.browser(office.with_site(started=lambda: ready)) as probe:
        assert (await probe.get("/startupz")).status_code == 503
        ready = True
        assert (await probe.get("/startupz")).json() == {"status": "ok"}


async def test_metrics_are_served_as_prometheus_reads_them_unless_switched_off(office: Office) -> None:
    metrics = Metrics()
    metrics.turns_total.labels("done").inc()
    async with office.browser(office.with_site(metrics=metrics)) as reader:
        answer = await reader.get("/metrics")
        assert 'hermes_gateway_turns_total{outcome="done"} 1.0' in answer.text
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    async with office.browser(office.with_site(settings=WebSettings(metrics=False))) as reader:
        assert (await reader.get("/metrics")).status_code == 404


async def test_the_version_names_program_commit_and_python(office: Office) -> None:
    async with office.browser() as reader:
        answer = (await reader.get("/version")).json()
    assert (answer["version"], answer["commit"]) == ("1.2.3", "abc")
    assert answer["python"].startswith("3.")


async def test_the_interface_is_described_and_no_page_of_it_loads_from_elsewhere(office: Office) -> None:
    async with office.browser() as reader:
        described = (await reader.get("/openapi.json")).json()
        assert (await reader.get("/docs")).status_code == 404
        assert (await reader.get("/redoc")).status_code == 404
    assert {"/chat/messages", "/chat/events", "/chat/conversation", "/healthz", "/readyz"} <= set(described["paths"])
    assert "/login" not in described["paths"]

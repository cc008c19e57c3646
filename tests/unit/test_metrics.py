"""What Prometheus gets to read."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from gateway.metrics import CacheFigures, Metrics


def samples(metrics: Metrics) -> dict[str, float]:
    """Every sample by its name and labels."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        " ".join([sample.name, *(f"{key}={value}" for key, value in sorted(sample.labels.items()))]): sample.value
        for family in families
        for sample in family.samples
    }


def test_counts_appear_under_our_prefix_with_their_labels() -> None:
    metrics = Metrics()
    metrics.events_total.labels("webchat", "accepted").inc()
    metrics.turns_total.labels("done").inc()
    metrics.turn_seconds.observe(0.2)
    metrics.model_requests_total.labels("ok").inc()
    metrics.tokens_total.labels("prompt").inc(120)
    metrics.outbox_parts_total.labels("webchat", "sent").inc(2)
    metrics.doubtful_total.labels("telegram").inc()
    metrics.inbox_waiting.set(3)
    metrics.leases_held.set(64)
    found = samples(metrics)
    assert found["hermes_gateway_events_total outcome=accepted platform=webchat"] == 1
    assert found["hermes_gateway_turns_total outcome=done"] == 1
    assert found["hermes_gateway_turn_seconds_sum"] == 0.2
    assert found["hermes_gateway_turn_seconds_bucket le=0.25"] == 1
    assert found["hermes_gateway_turn_seconds_bucket le=0.1"] == 0
    assert found["hermes_gateway_model_requests_total outcome=ok"] == 1
    assert found["hermes_gateway_tokens_total kind=prompt"] == 120
    assert found["hermes_gateway_outbox_parts_total outcome=sent platform=webchat"] == 2
    assert found["hermes_gateway_doubtful_total platform=telegram"] == 1
    assert found["hermes_gateway_inbox_waiting"] == 3
    assert found["hermes_gateway_leases_held"] == 64


def test_compressions_are_counted_with_what_they_took_off() -> None:
    metrics = Metrics()
    metrics.count_compression("summary", 4.0, 53_000)
    metrics.count_compression("kept", 2.0, 0)
    metrics.count_compression("fallback", 0.2, -10)
    found = samples(metrics)
    outcomes = ("summary", "kept", "fallback")
    assert [found[f"hermes_gateway_compressions_total outcome={outcome}"] for outcome in outcomes] == [1, 1, 1]
    assert found["hermes_gateway_compression_seconds_sum"] == 6.2
    assert found["hermes_gateway_compression_tokens_saved_total"] == 53_000


def test_the_cache_is_asked_each_time_somebody_reads() -> None:
    metrics, figures = Metrics(), CacheFigures(entries=1, bytes=10, hits=2, misses=3, evictions=4)
    metrics.watch_cache(lambda: figures)
    assert samples(metrics)["hermes_gateway_agent_cache_hits_total"] == 2
    figures = CacheFigures(entries=7, bytes=70, hits=5, misses=3, evictions=9)
    found = samples(metrics)
    names = ("entries", "bytes", "hits_total", "misses_total", "evictions_total")
    assert [found[f"hermes_gateway_agent_cache_{name}"] for name in names] == [7, 70, 5, 3, 9]


def test_two_gateways_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.turns_total.labels("done").inc()
    assert "hermes_gateway_turns_total outcome=done" not in samples(other)

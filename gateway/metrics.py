"""What the gateway counts of itself: rooms count what happened, out comes the text that Prometheus reads.

Labels are bounded: a platform that is configured, an outcome of a short list. Never a chat, a person or a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.messages import Usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "hermes_gateway"
SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""From a turn that a stub answers to one that works through many tools."""


@dataclass(frozen=True, slots=True)
class CacheFigures:
    """How the cache of live sessions stands; the last three only ever rise."""

    entries: int = 0
    bytes: int = 0
    hits: int = 0
    misses: int = 0
    evictions: int = 0


class _CacheCollector(Collector):
    """Asks the cache when somebody reads the metrics, so that the cache itself keeps the only count."""

    def __init__(self, read: Callable[[], CacheFigures]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        now, prefix = self._read(), f"{PREFIX}_agent_cache"
        yield GaugeMetricFamily(f"{prefix}_entries", "Live sessions in the cache", value=now.entries)
        yield GaugeMetricFamily(f"{prefix}_bytes", "What the live sessions weigh, estimated", value=now.bytes)
        yield CounterMetricFamily(f"{prefix}_hits", "Turns that found their session live", value=now.hits)
        yield CounterMetricFamily(f"{prefix}_misses", "Turns that had to build their session", value=now.misses)
        yield CounterMetricFamily(f"{prefix}_evictions", "Sessions put out of the cache", value=now.evictions)


class Metrics:
    """The figures of one gateway, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.events_total = self._counter("events_total", "Events that came in", "platform", "outcome")
        self.turns_total = self._counter("turns_total", "Turns, by how they ended", "outcome")
        self.turn_seconds = Histogram(
            f"{PREFIX}_turn_seconds", "How long turns took", registry=self._registry, buckets=SECONDS
        )
        self.model_requests_total = self._counter("model_requests_total", "Requests to a model", "outcome")
        self.tokens_total = self._counter("tokens_total", "Tokens: prompt, completion, cached (part of prompt)", "kind")
        self.reviews_total = self._counter("reviews_total", "Reviews of what to remember, by what they did", "outcome")
        self.compressions_total = self._counter("compressions_total", "Tries to compress a conversation", "outcome")
        self.compression_seconds = Histogram(
            f"{PREFIX}_compression_seconds", "How long tries to compress took", registry=self._registry, buckets=SECONDS
        )
        self.compression_tokens_saved_total = self._counter(
            "compression_tokens_saved_total", "Tokens of a request that compressions took off, as counted at the time"
        )
        self.outbox_parts_total = self._counter("outbox_parts_total", "Tries to deliver a part", "platform", "outcome")
        self.doubtful_total = self._counter("doubtful_total", "Parts that may have arrived before", "platform")
        self.inbox_waiting = self._gauge("inbox_waiting", "Events that wait for their turn")
        self.leases_held = self._gauge("leases_held", "Leases this process holds")

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", text, registry=self._registry)

    def count_model(self, usage: Usage, requests: int, *, failed: bool) -> None:
        """Count the requests of one piece of work and the tokens they took."""
        self.tokens_total.labels("prompt").inc(usage.prompt)
        self.tokens_total.labels("completion").inc(usage.completion)
        self.tokens_total.labels("cached").inc(usage.cached)
        self.model_requests_total.labels("failed" if failed else "ok").inc(requests)

    def count_compression(self, outcome: str, seconds: float, saved: int) -> None:
        """Count a try to compress a conversation, by what it is stored as: summary, fallback, pruned or kept."""
        self.compressions_total.labels(outcome).inc()
        self.compression_seconds.observe(seconds)
        self.compression_tokens_saved_total.inc(max(0, saved))

    def watch_cache(self, read: Callable[[], CacheFigures]) -> None:
        """Show the figures of the cache of live sessions; called once."""
        self._registry.register(_CacheCollector(read))

    def render(self) -> bytes:
        """Return everything as Prometheus reads it."""
        return generate_latest(self._registry)

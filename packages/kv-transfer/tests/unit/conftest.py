from __future__ import annotations

import pytest
from transfer_pairs import Consumer, Producer


@pytest.fixture
def make():
    """Makes producers and consumers, and ends them."""
    made = []

    def producer(**options):
        made.append(Producer(**options))
        return made[-1]

    def consumer(of, **options):
        one = Consumer(of.transport, **options)
        made.append(one)
        return one

    producer.consumer = consumer
    yield producer
    for one in made:
        one.server.close() if isinstance(one, Producer) else one.close()

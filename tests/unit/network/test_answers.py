"""Words of sysfs below /sys/class/infiniband, also those that are none."""

import pytest

from hostagent.domains.network.read_rdma_answers import (
    parse_count,
    parse_guid,
    parse_labelled,
    parse_local_id,
    parse_rate,
    parse_traffic_class,
)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *(
            (parse_labelled, text)
            for text in ("", "4", "ACTIVE", "4:", "4: ", "x: ACTIVE", "4: A1", "²: ACTIVE", "4: " + "A" * 41, "4444: ACTIVE")
        ),
        *(
            (parse_rate, text)
            for text in ("", "400", "400 Gb/s", " Gb/sec", "4e2 Gb/sec", "400. Gb/sec", ".5 Gb/sec", "-1 Gb/sec", "1.2.3 Gb/sec")
        ),
        *((parse_local_id, text) for text in ("", "0x", "1f", "0xg", "0x123456789", "0x1 ", "0x-1", "0x_1")),
        *((parse_count, text) for text in ("", "-1", "1.5", "²", "9" * 21, "1 ")),
        *((parse_traffic_class, text) for text in ("106", "Global tclass=", "Global tclass=x", "Global tclass=1066", "Global tclass=1 2")),
        *(
            (parse_guid, text)
            for text in ("", "9803", "9803:9b03:00aa:bb0", "9803:9b03:00aa:bb00:1", "9803:9b03:00aa:bbgg", "98039b0300aabb00")
        ),
    ],
)
def test_what_is_no_such_word(parse, text):
    with pytest.raises(ValueError, match="wanted"):
        parse(text)


@pytest.mark.parametrize(("text", "rate"), [("2.5 Gb/sec (1X SDR)", 2.5), ("800 Gb/sec (4X XDR)", 800.0), ("56 Gb/sec (4X FDR)", 56.0)])
def test_rates(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize(("text", "value"), [("Global tclass=0", 0), ("Global tclass=106\n", 106), ("tclass=96 src ip=10.0.0.1", 0)])
def test_traffic_classes(text, value):
    assert parse_traffic_class(text) == value

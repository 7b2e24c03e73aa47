from __future__ import annotations

import datetime as dt
import ipaddress
import re
import uuid
from random import Random
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator

from kernelet.structured.automata.questions import Matcher, lengths, sample
from kernelet.structured.schema.formats import FORMATS, language_of

VALID = {
    "date": ["2024-02-29", "2000-02-29", "1999-12-31", "0001-01-01", "2023-04-30"],
    "date-time": ["2024-02-29T23:59:59Z", "1999-01-01T00:00:00.123456+05:30"],
    "duration": ["P1Y2M3DT4H5M6S", "P4W", "PT36H", "P1D", "PT1M30S", "P2Y"],
    "email": ["joe.bloggs@example.com", "a+b@sub-domain.example.co.uk"],
    "hostname": ["localhost", "www.example.com", "a-b.example", "h0", "a.b.c.d.e.example.com"],
    "ipv4": ["0.0.0.0", "255.255.255.255", "192.168.1.10"],
    "ipv6": [
        "::",
        "::1",
        "fe80::1",
        "1:2:3:4:5:6:7:8",
        "::ffff:192.168.0.1",
        "1::",
        "1:2:3:4:5:6:7::",
        "1::3:4:5:6:7:8",
    ],
    "iri": ["http://\u00fc.example/\u00e9?\u4e2d#\u6587", "https://example.com/"],
    "iri-reference": ["/\u00e9", "#\u00e9", "", "http://\u00fc.example/"],
    "json-pointer": ["", "/", "/a/b~0c/~1", "/\u00e9//0"],
    "relative-json-pointer": ["0", "1/a", "10#", "2/a~1b"],
    "time": ["00:00:00Z", "23:59:59.5+01:00", "12:30:00-08:00"],
    "uri": [
        "http://example.com",
        "https://user@example.com:8080/a/b?c=d&e=%20#f",
        "mailto:a@b.c",
        "urn:isbn:1",
        "http://[::1]/",
    ],
    "uri-reference": ["", "a/b", "../c", "?q", "#f", "//host/path", "http://example.com"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
}
INVALID = {
    "date": [
        "2023-02-29",
        "1900-02-29",
        "2024-13-01",
        "2024-04-31",
        "24-01-01",
        "2024-1-1",
        "2024-01-00",
        "0000-01-01",
    ],
    "date-time": ["2024-02-29", "2024-02-29T24:00:00Z", "2024-02-29T00:00:00", "2024-02-30T00:00:00Z"],
    "duration": ["P", "PT", "P1W2D", "1Y", "P1", "PT1Y", "P1S", "P1H", ""],
    "email": ["a", "@b.c", "a@", "a@-b.c", "a..b@c.d", "a b@c.d", "a@b..c"],
    "hostname": ["", "-a", "a-", "a..b", ".a", "a.", "a_b", "a" * 64, "a b"],
    "ipv4": ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4 "],
    "ipv6": ["1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", ":::", "1::2::3", "12345::", "::1.2.3", "::1%eth0", "g::"],
    "iri": ["\u00e9", "http://a b", "http://\u00fc\\"],
    "iri-reference": ["a b", "\\"],
    "json-pointer": ["a", "/~", "/~2", "#/a"],
    "relative-json-pointer": ["", "-1", "01", "1#/a", "/a"],
    "time": ["24:00:00Z", "12:60:00Z", "12:00:00", "12:00Z", "12:00:00+25:00"],
    "uri": ["example.com", "/a", "http://a b", "http://a/%2", "1a:b", "a:\\", "http://[1]/", ":a", "http://a/\u00e9"],
    "uri-reference": ["a b", "\\a", "%zz", "1:b", "#a#b"],
    "uuid": ["123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", ""],
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_of_a_format(name):
    matches = Matcher(language_of(name))
    assert all(map(matches, VALID[name]))
    assert not any(map(matches, INVALID[name]))


CHECKS = {
    "date": dt.date.fromisoformat,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "uuid": uuid.UUID,
    "uri": urlsplit,
    "iri": urlsplit,
    "uri-reference": urlsplit,
    "iri-reference": urlsplit,
}


@pytest.mark.parametrize("name", FORMATS)
def test_samples_are_valid_elsewhere(name):
    language = language_of(name)
    random = Random(0)
    for _ in range(40):
        text = sample(language, random, 30)
        assert Draft202012Validator.FORMAT_CHECKER.conforms(text, name), text
        CHECKS.get(name, str)(text)


def test_dates_are_those_of_the_calendar():
    matches = Matcher(language_of("date"))
    for year in (1, 1600, 1900, 2000, 2023, 2024, 9999):
        for month in range(14):
            for day in range(33):
                try:
                    dt.date(year, month, day)
                except ValueError:
                    expected = False
                else:
                    expected = True
                assert matches(f"{year:04}-{month:02}-{day:02}") == expected


def test_addresses_and_names_have_their_lengths():
    assert lengths(language_of("hostname"))[1] <= 253
    assert lengths(language_of("email"))[1] <= 254


def test_labels_have_no_two_hyphens_in_a_row():
    assert not re.search("--", "".join(sample(language_of("hostname"), Random(seed), 60) for seed in range(20)))

from __future__ import annotations

from kernelet.text.parsing.scanner import Scanner, Step


class Counts(Scanner):
    def feed(self, text):
        return Step(len(text))

    def finish(self):
        """Nothing is held back."""


def test_a_token_is_text_unless_a_scanner_says_otherwise():
    assert Counts().token("<x>") == Step(3)
    assert Step(3).to is None

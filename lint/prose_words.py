"""Banned words in documents, user-visible strings, comments and test names: names of files on stdin.

Markdown: all text except code. Lines have at most 100 columns, except tables, code and addresses of links.
In documents for users, sentences have at most 25 words, except in tables. C: string literals of two words or more,
comments without their quoted words, and names in cmocka_unit_test*(). Shell and Python: comment lines, docstrings.
"""
import re
import sys

COLUMNS = 100
SENTENCE_WORDS = 25
FOR_USERS = re.compile(r"(README|docs/TUTORIAL|docs/man/.*)\.md")
PAGES = re.compile(r"(README|CHANGELOG|CONTRIBUTING|tests/README|docs/[^/]*|docs/man/.*)\.md")
SOURCES = re.compile(r"(interpose|libgpuprof|tools)/.*\.(c|h|def)")
COMMENTED = re.compile(r"(interpose|libgpuprof|tools|kernels|tests|bench)/.*\.(c|h|def|S|cu)|"
                       r"(tests|bench|lint)/.*\.(sh|py)")
C_TEXT = re.compile(r'''(?P<comment>/\*.*?\*/|//[^\n]*)|'(?:[^'\\\n]|\\.)*'|'''
                    r'''"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*''', re.S)
SCRIPT_TEXT = re.compile(r'(?P<comment>(?:^[ \t]*#[^\n]*\n)+|""".*?""")', re.M | re.S)
BANNED = [  # the words, what to write instead
    (r"\b(tells?|told|telling|says?|said|asks|asked|knows|knew|wants?|wanted|promises?|promised)\b",
     "report, print, request, require, record"),
    (r"\b(nobody|somebody)\b", "the noun"),
    (r"(?<![Tt]here )\b(is|are|was|were) no\b(?! longer)", "is not a"),
    (r"(?:^|[.:;] )(What|Who|Nothing) [^?.]*(?:[.:;]|$)", "a noun as the subject"),
    (r"\b(doors?|mend(?:s|ed|ing)?|carr(?:y|ies|ied|ying)|to blame)\b", "hook, fix, has, names the code"),
]
BANNED_IN_NAMES = re.compile(
    r"(?<![^_])(told|tells?|says?|said|asks?|asked|knows?|knew|nobody|somebody|what|who|whose|is_no)(?![^_])")


def words(text):
    for pattern, instead in BANNED:
        for found in re.finditer(pattern, text, 0 if "What" in pattern else re.I):
            yield found[1] if len(found[1]) > 3 or "no" not in found[0] else found[0], instead


def prose_lines(text):
    """Numbers and lines of Markdown, without code."""
    is_fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced and not re.match(r"    |\t|<!--|`[^`]*`$", line):
            yield number, line


def page_findings(text):
    for number, line in prose_lines(text):
        bare = re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
        for word, instead in words(bare):
            yield number, f"'{word}', expected: {instead}"
        length = len(re.sub(r"\]\([^)]*\)", "]", line))
        if length > COLUMNS and not line.startswith("|"):
            yield number, f"{length} columns, expected: at most {COLUMNS}"


def long_sentences(text):
    """For each sentence, the line where its paragraph begins, and its words. Code in backticks is one word."""
    first, last, paragraph = 0, 0, ""
    for number, line in [*prose_lines(text), (0, "")]:
        bare = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`", line)).strip()
        if paragraph and (not bare or re.match(r"[-*|:] |#|\||\d+\. ", bare) or number != last + 1):
            for sentence in re.split(r"(?<=[.!?])\**\s+", paragraph):
                length = len(re.findall(r"[\w`]\S*", sentence))
                if length > SENTENCE_WORDS:
                    yield first, f"a sentence of {length} words, expected: at most {SENTENCE_WORDS}"
            paragraph = ""
        if bare and not bare.startswith(("#", "|")):
            first = first if paragraph else number
            paragraph += bare + " "
        last = number


def source_texts(name, text):
    """Place and words of each comment, and of each literal that users may read."""
    for found in (SCRIPT_TEXT if name.endswith((".sh", ".py")) else C_TEXT).finditer(text):
        if found["comment"]:
            flat = re.sub(r"\s*(?:^|\n)\s*(?:/?\*+/?|#+|//+|\"\"\")?\s*", " ", found[0]).strip()
            yield found.start(), re.sub(r'"[^"]*"|`[^`]*`', "", flat)
        elif SOURCES.fullmatch(name) and found[0].startswith('"'):
            literal = re.sub(r'"\s*(?:PRI\w+)?\s*"|--[a-z-]+', "", found[0])[1:-1]
            if " " in literal:
                yield found.start(), literal


def source_findings(name, text):
    for place, flat in source_texts(name, text):
        for word, instead in words(flat):
            yield text.count("\n", 0, place) + 1, f"'{word}', expected: {instead}"
    for test in re.finditer(r"cmocka_unit_test\w*\(\s*(\w+)", text):
        for word in BANNED_IN_NAMES.findall(test[1]):
            yield text.count("\n", 0, test.start()) + 1, f"'{word}' in {test[1]}, expected: the tested behaviour"


def main():
    is_clean = True
    for name in sys.stdin.read().split():
        if not (PAGES.fullmatch(name) or COMMENTED.fullmatch(name)):
            continue
        text = open(name, encoding="utf-8").read()
        found = list(page_findings(text) if name.endswith(".md") else source_findings(name, text))
        for line, what in found + (list(long_sentences(text)) if FOR_USERS.fullmatch(name) else []):
            is_clean = False
            print(f"{name}:{line}: {what}")
    return not is_clean


if __name__ == "__main__":
    sys.exit(main())

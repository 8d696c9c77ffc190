"""Banned words in documents and user-visible strings: prose_words.py, names of files on stdin.

Markdown: all text except code. Lines have at most 100 columns, except tables, code and addresses of links.
In documents for users, sentences have at most 25 words, except in tables. C: string literals of two words or more.
"""
import re
import sys

COLUMNS = 100
SENTENCE_WORDS = 25
FOR_USERS = re.compile(r"(README|docs/TUTORIAL|docs/man/.*)\.md")
PAGES = re.compile(r"(README|CHANGELOG|CONTRIBUTING|tests/README|docs/[^/]*|docs/man/.*)\.md")
SOURCES = re.compile(r"(interpose|libgpuprof|tools)/.*\.(c|h|def)")
BANNED = [  # the words, what to write instead
    (r"\b(tells?|told|telling|says?|said|asks|asked|knows|knew|wants?|wanted|promises?|promised)\b",
     "report, print, request, require, record"),
    (r"\b(nobody|somebody)\b", "the noun"),
    (r"(?<![Tt]here )\b(is|are|was|were) no\b(?! longer)", "is not a"),
    (r"(?:^|[.:;] )(What|Who|Nothing) [^?.]*(?:[.:;]|$)", "a noun as the subject"),
    (r"\b(doors?|mend(?:s|ed|ing)?|carr(?:y|ies|ied|ying)|to blame)\b", "hook, fix, has, names the code"),
]


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


def source_findings(text):
    bare = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)
    for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*', bare):
        literal = re.sub(r'"\s*(?:PRI\w+)?\s*"', "", found[0])[1:-1]
        if " " not in literal:
            continue
        literal = re.sub(r"--[a-z-]+", "", literal)
        for word, instead in words(literal):
            yield bare.count("\n", 0, found.start()) + 1, f"'{word}', expected: {instead}"


def main():
    is_clean = True
    for name in sys.stdin.read().split():
        if not (PAGES.fullmatch(name) or SOURCES.fullmatch(name)):
            continue
        text = open(name, encoding="utf-8").read()
        found = list((page_findings if name.endswith(".md") else source_findings)(text))
        for line, what in found + (list(long_sentences(text)) if FOR_USERS.fullmatch(name) else []):
            is_clean = False
            print(f"{name}:{line}: {what}")
    return not is_clean


if __name__ == "__main__":
    sys.exit(main())

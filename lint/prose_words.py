"""Banned words in documents and user-visible strings: prose_words.py PROSE_LEFT, names of files on stdin.

Markdown: all but code; lines of at most 100 columns, tables, code and addresses of links aside. C: string literals
of two words or more. PROSE_LEFT has "FILE WORDS COLUMNS": so many findings a page may have left. Fewer are
reported by `prose_words.py --count`, which prints the list anew.
"""
import re
import sys

COLUMNS = 100
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
            yield "words", number, f"'{word}', expected: {instead}"
        length = len(re.sub(r"\]\([^)]*\)", "]", line))
        if length > COLUMNS and not line.startswith("|"):
            yield "columns", number, f"{length} columns, expected: at most {COLUMNS}"


def source_findings(text):
    bare = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)
    for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*', bare):
        literal = re.sub(r'"\s*(?:PRI\w+)?\s*"', "", found[0])[1:-1]
        if " " not in literal:
            continue
        literal = re.sub(r"--[a-z-]+", "", literal)
        for word, instead in words(literal):
            yield "words", bare.count("\n", 0, found.start()) + 1, f"'{word}', expected: {instead}"


def main():
    left = {}
    if sys.argv[1] != "--count":
        left = {file: {"words": int(w), "columns": int(c)}
                for file, w, c in (line.split() for line in open(sys.argv[1]))}
    is_clean = True
    for name in sys.stdin.read().split():
        if not (PAGES.fullmatch(name) or SOURCES.fullmatch(name)):
            continue
        text = open(name, encoding="utf-8").read()
        found = list((page_findings if name.endswith(".md") else source_findings)(text))
        number_of = {kind: sum(f[0] == kind for f in found) for kind in ("words", "columns")}
        if sys.argv[1] == "--count":
            if found:
                print(name, number_of["words"], number_of["columns"])
            continue
        for kind, number in number_of.items():
            most = left.get(name, {}).get(kind, 0)
            if number > most:
                is_clean = False
                for _, line, what in (f for f in found if f[0] == kind):
                    print(f"{name}:{line}: {what}" + (f" ({number}, at most {most} are left)" if most else ""))
    return not is_clean


if __name__ == "__main__":
    sys.exit(main())

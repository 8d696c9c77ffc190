"""Prints a value of the JSON object on stdin: json_pick.py EXPRESSION, in which `o` is it."""
import json
import sys

value = eval(sys.argv[1], {"o": json.load(sys.stdin)})  # the expressions are those of the tests
print(json.dumps(value, separators=(",", ":")))

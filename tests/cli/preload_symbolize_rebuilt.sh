export LD_LIBRARY_PATH=$BUILD/fake
objcopy --remove-section .note.gnu.build-id $BUILD/victims/leak_two job
gpuprof run -q --no-symbolize --stacks native -o a.gpr -- ./job >/dev/null
cp a.gpr b.gpr
gpuprof symbolize --json a.gpr | python3 -c '
import json, sys

print(json.load(sys.stdin)["unnamed"])
'
cp job copy
mv copy job
gpuprof symbolize --json b.gpr | python3 -c '
import json, sys

print([u["why"] for u in json.load(sys.stdin)["unnamed"]])
'

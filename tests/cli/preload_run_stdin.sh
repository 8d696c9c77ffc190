export LD_LIBRARY_PATH=$BUILD/fake
seq 1000 | gpuprof run -q -- sh -c "$BUILD/victims/leak_two >/dev/null; cat" | sha256sum
seq 1000 | sha256sum
gpuprof run -q -o /dev/null sh -c "cat; echo out; echo err >&2" 2>err
cat err

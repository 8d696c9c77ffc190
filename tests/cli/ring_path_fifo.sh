mkfifo ring
timeout 2 sh -c 'echo >ring' &
python3 $CLI/patch_header.py 176 './ring\x00' <$DATA/fake-training.gpr >x.gpr
gpuprof info x.gpr >told
grep -c '^events' told
wait $!
echo writer $?

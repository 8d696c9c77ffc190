many=$(for i in $(seq 200); do echo $DATA/h200_gpt_eager.gpr; done)
python3 $CLI/take_name.py new gpuprof info -o new $many
cat new
rm new
# each pwrite takes 0.2 s, so that the name is taken in time
python3 $CLI/take_name.py new env LD_PRELOAD=$BUILD/fake/slow_disk.so SLOW_WHILE=/dev/null \
    gpuprof verify --repair new $DATA/h200_gpt_eager.gpr
cat new
rm new
python3 $CLI/take_name.py new gpuprof info --force -o new $many
wc -l <new

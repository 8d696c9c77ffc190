many=$(for i in $(seq 200); do echo $DATA/h200_gpt_eager.gpr; done)
python3 $CLI/take_name.py new gpuprof info -o new $many
cat new
rm new
python3 $CLI/take_name.py new gpuprof verify --repair new $DATA/h200_gpt_eager.gpr
cat new
rm new
python3 $CLI/take_name.py new gpuprof info --force -o new $many
wc -l <new

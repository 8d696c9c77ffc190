many=$(for i in $(seq 500); do echo $DATA/h200_gpt_eager.gpr; done)
end="python3 $CLI/end_writing.py"
echo old >out
for signal in SIGINT SIGTERM SIGHUP; do
	$end $signal gpuprof info --force -o out $many
	$end $signal gpuprof timeline --csv -o new $many
done
(
	trap "" HUP
	$end SIGHUP gpuprof info --force -o out $DATA/h200_gpt_eager.gpr $DATA/h200_mlp.gpr
)
cat out | wc -l

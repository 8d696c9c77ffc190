for span in "--from 1331259175ns --to 4846767553ns $DATA/h200_calls.gpr" \
	"--to 2ms $DATA/h200_gpt_eager.gpr" \
	"--from 18000000ns --to 18000000ns $DATA/fake-no_room.gpr"; do
	gpuprof timeline --json $span | grep '_peak_bytes\|points": \[\['
done
gpuprof timeline --from 1331259175ns --to 4846767553ns $DATA/h200_calls.gpr |
	grep "driver\|allocated"

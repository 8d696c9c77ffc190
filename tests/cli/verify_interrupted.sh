for signal in SIGINT SIGTERM SIGKILL; do
	python3 $CLI/end_writing.py $signal gpuprof verify --repair out.gpr \
		$DATA/h200_gpt_eager.gpr |
		sed "s/gpr[.]....../gpr.X/"
	rm -f out.gpr.*
	gpuprof verify --repair out.gpr $DATA/h200_gpt_eager.gpr >/dev/null && rm out.gpr
done

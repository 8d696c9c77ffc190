for r in h200_gpt_oom h200_jax fake-held; do
	gpuprof export --format torch -o $r.pickle $DATA/$r.gpr 2>&1 |
		grep -o "wrote.*entries" |
		tr -d ,
	python3 -c '
import pickle, sys

print([len(t) for t in pickle.load(open(sys.argv[1], "rb"))["device_traces"]])
' $r.pickle
done

settings='expandable_segments : True, max_split_size_mb : 100, '
settings=$settings'roundup_power2_divisions:[256:1, 512:2,>:8] ,garbage_collection_threshold: 0.5'
$BUILD/frag/made_oom other made.gpr "PYTORCH_CUDA_ALLOC_CONF=$settings" &&
	gpuprof export --format torch -o x.pickle made.gpr 2>/dev/null
python3 -c '
import pickle

p = pickle.load(open("x.pickle", "rb"))
s = p["allocator_settings"]
d = s["roundup_power2_divisions"]
print(
    s["max_split_size"],
    s["expandable_segments"],
    s["garbage_collection_threshold"],
    d["1"],
    d["512"],
    d["1024"],
)
print([e["device_free"] for t in p["device_traces"] for e in t if e["action"] == "oom"])
'

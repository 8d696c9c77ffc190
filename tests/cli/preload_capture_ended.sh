LD_LIBRARY_PATH=$BUILD/fake GPUPROF_RING_DIR=$PWD python3 $CLI/drive_capture.py ended
# the job went on without the recorder: no all-clear for OOMs
gpuprof info stop.gpr | grep ^OOMs
gpuprof oom stop.gpr | grep OOM
gpuprof oom stop.gpr again.gpr | grep OOM
gpuprof info stop.gpr again.gpr | sed -n "/peak/,\$p" | cut -c 1-20
gpuprof report -o page.html stop.gpr again.gpr 2>/dev/null
python3 -c '
import base64, gzip, json, re

text = re.search("id=\"gpuprof-report\">([^<]*)", open("page.html").read())[1]
figures = json.loads(gzip.decompress(base64.b64decode(text)))["ranks"]["figures"]
print(next(one["values"] for one in figures if one["figure"] == "OOMs"))
'

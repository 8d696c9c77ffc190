python3 -c "
b = bytearray(open('$DATA/h200_mlp.gpr', 'rb').read())
b[3000] ^= 1
open('f.gpr', 'wb').write(b)
"
gpuprof info f.gpr 2>&1 | head -n 2 | cut -c1-90
gpuprof verify --repair r.gpr f.gpr
echo $?
gpuprof verify r.gpr
gpuprof timeline --json r.gpr | grep -o '"driver_peak_bytes": [0-9]*'
gpuprof timeline --json $DATA/h200_mlp.gpr | grep -o '"driver_peak_bytes": [0-9]*'

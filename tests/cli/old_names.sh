# names of format 1.8 and older: no damage, and new names replace only them
cp $DATA/old/names.gpr a.gpr
chmod u+w a.gpr
gpuprof info a.gpr | grep -i 'stacks'
gpuprof info a.gpr >/dev/null 2>&1
echo "info: $?"
gpuprof verify a.gpr
echo "verify: $?"
gpuprof symbolize a.gpr | head -n 1
cmp a.gpr $DATA/old/names.gpr
gpuprof verify --repair b.gpr a.gpr >/dev/null
gpuprof info b.gpr >/dev/null

cp $DATA/fake-held.gpr .
d=fake-held.gpr
gpuprof check --baseline none.json $d
echo $?
echo "{" >b.json
gpuprof check --baseline b.json $d
gpuprof check --baseline b.json --update $d
cat b.json
echo "{\"format\": \"another\"}" >b.json
gpuprof check --baseline b.json $d
gpuprof check --baseline $d --update $d
mkdir dir
gpuprof check --baseline dir $d

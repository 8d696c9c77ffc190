gpuprof info $DATA/fake-no_room.gpr | grep ^stacks
gpuprof info --json $DATA/fake-no_room.gpr | grep -o "\"events_without_room\": [0-9]*"

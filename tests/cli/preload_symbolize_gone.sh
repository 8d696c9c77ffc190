sh $DATA/../stacks/gone.sh $BUILD

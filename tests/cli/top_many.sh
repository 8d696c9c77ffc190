cd $DATA && gpuprof top --sort churn fake-held.gpr fake-training.gpr

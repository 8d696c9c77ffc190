# Documents that are made from the sources. `make lint` compares them with what the program says.
docs: $(BUILD)/gpuprof ## write docs/ENVIRONMENT.md again from options.def
	@{ sed '/^## /,$$d' docs/ENVIRONMENT.md && $(BUILD)/gpuprof help --environment; } >$(BUILD)/environment.md
	@cat $(BUILD)/environment.md >docs/ENVIRONMENT.md

.PHONY: docs

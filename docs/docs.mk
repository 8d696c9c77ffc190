# Documents that are generated from the sources. `make lint` compares them with the output of the program.
docs: $(BUILD)/gpuprof ## write docs/ENVIRONMENT.md and the tables of docs/FORMAT.md again from the sources
	@{ sed '/^## /,$$d' docs/ENVIRONMENT.md && $(BUILD)/gpuprof help --environment; } >$(BUILD)/environment.md
	@cat $(BUILD)/environment.md >docs/ENVIRONMENT.md
	@python3 docs/format_tables.py libgpuprof/format/events.def libgpuprof/format/event.h docs/FORMAT.md >$(BUILD)/format.md
	@cat $(BUILD)/format.md >docs/FORMAT.md

.PHONY: docs

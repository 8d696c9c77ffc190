# Checks of the sources, the formatter, and the sessions in README.md. They run no tests.
SESSION_NEEDS := all $(BUILD)/victims/training_loop $(BUILD)/fake/libc10.so $(BUILD)/fake/libtorch_cpu.so

.PHONY: lint format readme-session
lint: $(SESSION_NEEDS) ## include rule, exports, hot path rules, names, man pages, prose, formatting: each finding with its place
	@BUILD=$(BUILD) lint/run.sh
format: ## clang-format over every C file
	@lint/formatting.sh apply
readme-session: $(SESSION_NEEDS) ## run the sessions shown in README.md again and write them there
	@BUILD=$(BUILD) lint/readme_session.sh write

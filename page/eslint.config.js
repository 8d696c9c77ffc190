import js from "@eslint/js";
import globals from "globals";

export default [
	{ ignores: ["dist/"] },
	js.configs.recommended,
	{
		files: ["src/**/*.js"],
		languageOptions: { globals: globals.browser },
		rules: { "max-len": ["error", { code: 100, tabWidth: 2 }], "no-restricted-properties": ["error", ...["innerHTML", "outerHTML",
			"insertAdjacentHTML", "write"].map((property) => ({ property }))] },
	},
	{ files: ["tools/**/*.{js,mjs}"], languageOptions: { globals: globals.node } },
];

/** Colours of bands and of the page's theme. Hues are those of Okabe and Ito, with darker and
 * lighter variants. */

const BAND_COLORS = [
	"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7a5195",
	"#66c2a5", "#8c6d31", "#a6cee3", "#b2476d", "#4d7c3a", "#f4a582", "#37598c",
];
export const OTHER_COLOR = "#9aa0a8";

/** Roles have one colour each, on every page. */
const ROLE_COLORS = new Map(Object.entries({
	weights: "#0072b2", gradients: "#d55e00", optimizer: "#009e73", activations: "#e69f00",
	inputs: "#66c2a5", temporaries: "#56b4e9", kv_cache: "#f0e442", communication: "#7a5195",
	workspace: "#cc79a7", graph_pool: "#8c6d31", unknown: "#7d848e", "": "#9aa0a8",
	free: "var(--grid)", unattributed: "#9aa0a8",
}));

/** @param {number} band */
export const bandColor = (band) => BAND_COLORS[band % BAND_COLORS.length];

/** @param {string} role @param {number} band */
export const roleColor = (role, band) => ROLE_COLORS.get(role) ?? bandColor(band);

/** Colours of a theme for pictures, from the style sheet. */
export function themeColors() {
	const style = getComputedStyle(document.documentElement);
	const color = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
	return {
		ground: color("ground"), ink: color("ink"), faint: color("faint"), grid: color("grid"),
		bad: color("bad"), warn: color("warn"), link: color("link"), edge: color("edge"),
		driver: color("driver"), reserved: color("reserved"), allocated: color("allocated"),
		pinned: color("pinned"),
	};
}

/** Black or white, whichever is readable on a colour. @param {string} color */
export function textOn(color) {
	const [r, g, b] = [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16));
	return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#101418" : "#ffffff";
}

const STORED = "gpuprof-theme";

/** @param {string} theme "dark", "light" or "" for that of the system */
export function applyTheme(theme) {
	if (theme) document.documentElement.dataset.theme = theme;
	else delete document.documentElement.dataset.theme;
}

/** Switches between dark and light, and keeps the choice where the browser permits it. */
export function switchTheme() {
	const chosen = document.documentElement.dataset.theme;
	const is_dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	applyTheme(is_dark ? "light" : "dark");
	try {
		localStorage.setItem(STORED, is_dark ? "light" : "dark");
	} catch { /* a file without storage */ }
}

export function restoreTheme() {
	try {
		applyTheme(localStorage.getItem(STORED) ?? "");
	} catch { /* a file without storage */ }
}

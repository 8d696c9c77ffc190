/*
 * The labels above the curves of the SVG: they stay inside the picture, and lines do not cross
 * their texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../tools/io/amount.c"
#include "../../tools/timeline/chart.c"
#include "../../tools/timeline/out_svg.c"

/* Only for the linker. */
void gp_xml_put(FILE *out, const char *text, size_t most)
{
	(void)text, (void)most, (void)out;
	fail();
}

double gp_svg_roles_draw(const struct gp_svg_place *place, const struct gp_chart *chart,
			 unsigned device)
{
	(void)place, (void)chart, (void)device;
	fail();
	return 0;
}

void gp_error(const char *format, ...)
{
	(void)format;
	fail();
}

static uint64_t random_state = 20260807;

static double any(unsigned below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state % below);
}

static double from_of(const struct band_label *l)
{
	return l->is_left ? l->x - width_of(l->text) : l->x;
}

/* For any place of the peaks, also all at one place or at the edges. */
static void labels_are_readable(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 2000; k++) {
		struct band b = { 0 };
		const double near = any(PLOT_WIDTH), apart = any(100);
		for (size_t i = 0; i < k % LABELS + 1; i++) {
			double x = k % 2 ? near + apart * any(3) : any(PLOT_WIDTH + 1);
			snprintf(b.label[i].text, sizeof b.label[i].text, "%*s", 26 + (int)any(9),
				 "");
			band_add(&b, "driver", x > PLOT_WIDTH ? PLOT_WIDTH : x, 0);
		}
		band_place(&b);
		for (size_t i = 0; i < b.labels; i++) {
			const struct band_label *l = &b.label[i];
			const double to = from_of(l) + width_of(l->text);
			assert_true(from_of(l) >= 0 && to <= PLOT_WIDTH && l->row < b.labels);
			for (size_t j = 0; j < b.labels; j++) {
				const struct band_label *m = &b.label[j];
				assert_true(i == j || m->row != l->row);
				if (m->row > l->row && m->is_left == l->is_left)
					assert_true(m->x <= from_of(l) || m->x >= to);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(labels_are_readable) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: eh_rows FILE...
 *
 * Prints the unwind rows of each file, one a line: the address, and the rule in the words of
 * readelf --debug-dump=frames-interp, with the caller's rbp (fp) and the return address (ra). Then
 * a line "# FILE rows N rules N functions N refused N ms N".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stacks/files/eh_rows.h"

static const char *saved_text(char buf[24], uint8_t saved, int offset)
{
	snprintf(buf, 24,
		 saved == UNWIND_SAME	  ? "u"
		 : saved == UNWIND_AT_CFA ? "c%+d"
		 : saved == UNWIND_AT_FP  ? "fp%+d"
					  : "?",
		 offset);
	return buf;
}

/* further: bytes from the CFA of the rule. */
static void print_rule(const struct eh_rows *r, const struct unwind_row *row, uint32_t address,
		       int further)
{
	static const char *const bases[] = {"sp", "fp", "at_sp", "at_fp", "plt"};
	static const char *const numbers[] = {"none", "no_caller", "end", "signal"};
	const struct unwind_rule *rule = &r->rules[row->rule - UNWIND_RULES_FIRST];
	char fp[24], ra[24];

	printf("%llx ", (unsigned long long)(r->base + address));
	if (row->rule < UNWIND_RULES_FIRST)
		printf("%s\n", numbers[row->rule]);
	else
		printf("%s%+d%+d %s %s\n", bases[rule->base], rule->cfa_offset + further,
		       rule->cfa_plus, saved_text(fp, rule->fp, rule->fp_offset),
		       saved_text(ra, rule->ra, rule->ra_offset));
}

static void print_row(const struct eh_rows *r, const struct unwind_row *row)
{
	print_rule(r, row, row->address, 0);
	if (row->next)
		print_rule(r, row, row->address + row->next, 8 * row->step);
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct eh_rows rows = {0};
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		double begin = cpu_ms();
		int r = fd < 0 ? -errno : eh_rows_read(fd, EH_ROWS_MAX, &rows);
		double end = cpu_ms();

		if (r < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
			return 1;
		}
		for (size_t n = 0; n < rows.n_rows; n++)
			print_row(&rows, &rows.rows[n]);
		printf("# %s rows %zu rules %zu functions %u refused %u ms %.1f\n", argv[i],
		       rows.n_rows, rows.n_rules, rows.n_functions, rows.n_refused, end - begin);
		eh_rows_deinit(&rows);
		close(fd);
	}
	return 0;
}

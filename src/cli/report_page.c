/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/page/page.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/verb.h"
#include "cli/trace/out_path.h"

/* Writes the page to `to` and closes it. to is NULL, with errno, if it could not be opened. */
static int write_to(FILE *to, const char *path, struct trace_tables *tables,
		    const struct page_options *o, struct page_result *ret, struct err_text *e)
{
	int r = to ? page_write(&tables->store, o, to, ret) : -errno;

	if (r == 0)
		return out_close(to, path, e);
	if (to && to != stdout)
		fclose(to);
	return err_set(e, r, "cannot write %s: %s", path, strerror(-r));
}

/* Writes the page to a file that only its owner may read, like the trace. */
static int write_file(const char *path, struct trace_tables *tables, const struct page_options *o,
		      struct page_result *ret, struct err_text *e)
{
	struct out_path out;
	FILE *special;
	int r;

	if (!strcmp(path, "-"))
		return write_to(stdout, path, tables, o, ret, e);
	r = out_path_special(path, &special, e);
	if (r < 0)
		return r;
	if (special)
		return write_to(special, path, tables, o, ret, e);
	r = out_path_create(&out, path, false, true, e);
	if (r < 0)
		return r;
	r = write_to(out_path_open(&out, NULL), path, tables, o, ret, e);
	if (r == 0)
		return out_path_finish(&out, e);
	out_path_deinit(&out);
	return r;
}

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

int report_page(struct trace_tables *tables, int64_t from, int64_t to, const char *path)
{
	const struct store *s = &tables->store;
	const char *slash = strrchr(tables->path, '/');
	struct page_options o = {.title = slash ? slash + 1 : tables->path,
				 .from = from,
				 .to = to,
				 .max_rows = PAGE_MAX_ROWS};
	struct page_result result = {0};
	char word[STR_WORD_SIZE];
	struct err_text e;

	if (write_file(path, tables, &o, &result, &e) < 0) {
		log_error("report: %s", e.text);
		return EXIT_FAILED;
	}
	if (result.to < to)
		log_warn("the page ends at %.6f s: it has %" PRIu64 " rows, and %" PRIu64
			 " later ones do not fit; a page of these: --from %.6f",
			 seconds(result.to - s->start_ts), result.rows, result.left_out,
			 seconds(result.to - s->start_ts));
	if (s->tables[TABLE_FTRACE].rows || s->n_arg_sets)
		log_info("the page shows CPUs, threads, slices and counters; the events themselves "
			 "(%" PRIu32
			 " of the kernel) are in the trace: sonda sql %s \"select * from "
			 "ftrace_event\"",
			 s->tables[TABLE_FTRACE].rows, str_word(tables->path, word));
	return EXIT_GOOD;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/page/page.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/terminal/sudo_user.h"
#include "cli/terminal/verb.h"

/* A regular file gets its name when it is complete; `temp` is its name until then. */
struct page_file {
	const char *path; /* borrowed */
	char *temp; /* owned; NULL: written directly */
	FILE *to; /* owned unless it is stdout */
};

static int page_file_open(struct page_file *f, const char *path)
{
	struct stat st;
	int fd;

	*f = (struct page_file){.path = path, .to = stdout};
	if (!strcmp(path, "-"))
		return 0;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		f->to = fopen(path, "we");
		return f->to ? 0 : -errno;
	}
	if (asprintf(&f->temp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	/* Only its owner may read it, as the trace. */
	fd = mkostemp(f->temp, O_CLOEXEC);
	if (fd >= 0)
		sudo_user_give(fd);
	f->to = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (f->to)
		return 0;
	fd = -errno;
	freep(&f->temp);
	return fd;
}

/* r: what writing it came to. Returns it, or -errno if the file cannot be closed or named. */
static int page_file_close(struct page_file *f, int r)
{
	if (f->to != stdout && fclose(f->to) && r == 0)
		r = -errno;
	if (f->temp && r == 0 && rename(f->temp, f->path))
		r = -errno;
	if (f->temp && r < 0)
		unlink(f->temp);
	freep(&f->temp);
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
	struct page_file f;
	int r = page_file_open(&f, path);

	if (r == 0)
		r = page_file_close(&f, page_write(&tables->store, &o, f.to, &result));
	if (r < 0) {
		log_error("report: cannot write %s: %s", path, strerror(-r));
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
			 s->tables[TABLE_FTRACE].rows, tables->path);
	return EXIT_GOOD;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report [NAME] FILE: answers about a trace in the terminal. */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/report_page.h"
#include "cli/report_table.h"
#include "cli/sql_output.h"
#include "cli/terminal/verb.h"
#include "cli/trace_tables.h"

#define DEFAULT_TOP 20
#define NO_PID INT64_MIN

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_HTML };

struct report_options {
	const struct report *report;
	const char *file;
	const char *out; /* -o; NULL: not given */
	enum report_format format;
	int64_t pid; /* NO_PID: all */
	int64_t from, to; /* ns since the trace's start; -1: not given */
	int64_t top;
	uint64_t memory; /* bytes; 0: the default */
};

static const struct report *const reports[] = {
	&report_cpu, &report_sched, &report_latency, &report_syscalls, &report_irq, &report_loss,
};

static const char usage_head[] =
	"usage: sonda report [OPTION]... [NAME] FILE\n\n"
	"Answers the common questions about a trace. Without a name: one screen. Names:\n\n";

static const char usage_tail[] =
	"\n"
	"  -p, --pid PID      only this process or thread\n"
	"      --from TIME    from this time on; seconds since the trace's start, or 1s, 200ms\n"
	"      --to TIME      up to this time\n"
	"      --top N        at most N rows of a list; default: 20\n"
	"      --json         one JSON object, with a list of rows for each table\n"
	"      --csv          CSV: a line with its title before each table\n"
	"      --html         a page for a browser: a timeline and its tables; with -o FILE\n"
	"  -o, --out FILE     the file of the page; - is the standard output\n"
	"      --memory SIZE  use at most this much memory for the trace, as 2g; default: half of "
	"the machine's\n"
	"  -h, --help         print this help\n\n"
	"example: sonda report latency -p 4711 trace.pftrace\n";

static const char letters[] = ":p:o:h";

static const struct option long_options[] = {
	{"pid", required_argument, NULL, 'p'},
	{"from", required_argument, NULL, 'F'},
	{"to", required_argument, NULL, 'T'},
	{"top", required_argument, NULL, 'n'},
	{"json", no_argument, NULL, 'j'},
	{"csv", no_argument, NULL, 'c'},
	{"html", no_argument, NULL, 'H'},
	{"out", required_argument, NULL, 'o'},
	{"memory", required_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* ---- the command line ---- */

static void print_usage(void)
{
	fputs(usage_head, stdout);
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		printf("  %-10s %s\n", reports[i]->name, reports[i]->help);
	fputs(usage_tail, stdout);
}

/* Seconds with a fraction, or with a unit: 1.5, 2s, 200ms, 30us. */
static int take_time(const char *text, int64_t *ret, struct err_text *e)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}};
	char *end;
	double v = strtod(text, &end);

	for (size_t i = 0; end != text && v >= 0 && v < 1e9 && i < ARRAY_SIZE(units); i++)
		if (!strcmp(end, units[i].name)) {
			*ret = (int64_t)(v * units[i].ns);
			return 0;
		}
	return err_set(e, -EINVAL, "%.80s is no time; as 1.5, 2s or 200ms", text);
}

static int take_number(const char *text, const char *what, int64_t min, int64_t *ret,
		       struct err_text *e)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (errno || end == text || *end || *ret < min || *ret > INT_MAX)
		return err_set(e, -EINVAL, "%.80s is no %s", text, what);
	return 0;
}

static int take_option(int option, const char *typed, struct report_options *o, struct err_text *e)
{
	uint32_t kb;

	switch (option) {
	case 'p':
		return take_number(optarg, "process or thread number", 0, &o->pid, e);
	case 'F':
		return take_time(optarg, &o->from, e);
	case 'T':
		return take_time(optarg, &o->to, e);
	case 'n':
		return take_number(optarg, "number of rows", 1, &o->top, e);
	case 'j':
		o->format = REPORT_JSON;
		return 0;
	case 'c':
		o->format = REPORT_CSV;
		return 0;
	case 'H':
		o->format = REPORT_HTML;
		return 0;
	case 'o':
		o->out = optarg;
		return 0;
	case 'm':
		if (str_to_size_kb(optarg, &kb) < 0 || !kb)
			return err_set(e, -EINVAL, "--memory %.80s is no size; as 512m or 2g",
				       optarg);
		o->memory = (uint64_t)kb << 10;
		return 0;
	default:
		return option_refuse(option, typed, letters, long_options, e);
	}
}

static int take_words(char **words, int n, struct report_options *o, struct err_text *e)
{
	struct str_nearest nearest;

	if (n == 0)
		return err_set(e, -EINVAL, "which trace? name a file");
	if (n > 2)
		return err_set(e, -EINVAL, "one report and one file at a time");
	o->file = words[n - 1];
	if (n == 1)
		return 0;
	str_nearest_init(&nearest, words[0]);
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		if (!strcmp(reports[i]->name, words[0])) {
			o->report = reports[i];
			return 0;
		}
		str_nearest_try(&nearest, reports[i]->name);
	}
	if (str_nearest_get(&nearest))
		return err_set(e, -EINVAL, "there is no report %.80s; did you mean %s?", words[0],
			       str_nearest_get(&nearest));
	return err_set(e, -EINVAL, "there is no report %.80s", words[0]);
}

/* A page is of the whole trace. */
static int check_page(const struct report_options *o, struct err_text *e)
{
	if (o->format != REPORT_HTML)
		return o->out ? err_set(e, -EINVAL, "-o is for --html; use > %.80s", o->out) : 0;
	if (!o->out)
		return err_set(e, -EINVAL, "--html needs the file of the page: -o page.html");
	if (o->report != &report_overview || o->pid != NO_PID)
		return err_set(e, -EINVAL,
			       "--html shows all processes and reports; --from and --to limit it");
	return 0;
}

/* Returns 0, 1 after the help, or -EINVAL. */
static int parse(int argc, char **argv, struct report_options *o, struct err_text *e)
{
	int option, r = 0;

	opterr = 0;
	optind = 0;
	while (r == 0 && (option = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
		if (option == 'h') {
			print_usage();
			return 1;
		}
		r = take_option(option, argv[optind - 1], o, e);
	}
	r = r < 0 ? r : take_words(argv + optind, argc - optind, o, e);
	return r < 0 ? r : check_page(o, e);
}

/* ---- the report ---- */

static void bind(sqlite3_stmt *st, const char *name, int64_t v)
{
	int i = sqlite3_bind_parameter_index(st, name);

	if (i && v != NO_PID)
		sqlite3_bind_int64(st, i, v);
}

/* The window in the trace's clock. */
struct window {
	int64_t start, from, to;
};

static struct window window_of(const struct store *s, const struct report_options *o)
{
	struct window w = {.start = s->start_ts, .from = s->start_ts, .to = s->end_ts};

	if (o->from >= 0)
		w.from = s->start_ts + o->from;
	if (o->to >= 0)
		w.to = MIN(s->end_ts, s->start_ts + o->to);
	return w;
}

static void print_title(const struct report_section *s, const struct report_options *o,
			const struct report_style *style)
{
	printf("%s%s%s", style->bold ? "\033[1m" : "", s->title, style->bold ? "\033[0m" : "");
	if (s->more)
		printf("   (sonda report %s %s)", s->more, o->file);
	putchar('\n');
}

/* One table. Tables without rows are only named in the output for programs. Returns an SQLite result code. */
static int print_section(sqlite3_stmt *st, const struct report_section *s,
			 const struct report_options *o, const struct report_style *style,
			 bool *ret_some)
{
	char *text = NULL;
	size_t len;
	FILE *to;
	int n, r;

	if (o->format == REPORT_CSV) {
		printf("# %s\n", s->title);
		return sql_output(st, SQL_CSV, stdout);
	}
	if (o->format == REPORT_JSON) {
		printf("%s\"%s\": ", *ret_some ? ", " : "", s->title);
		*ret_some = true;
		return sql_output(st, SQL_JSON, stdout);
	}
	to = open_memstream(&text, &len);
	if (!to)
		return SQLITE_NOMEM;
	n = report_table_print(st, style, to);
	r = fclose(to) ? SQLITE_NOMEM : n < 0 ? SQLITE_ERROR : SQLITE_OK;
	if (r == SQLITE_OK && n > 0) {
		if (*ret_some)
			putchar('\n');
		print_title(s, o, style);
		fputs(text, stdout);
		*ret_some = true;
	}
	free(text);
	return r;
}

static int run_section(sqlite3 *db, const struct report_section *s, const struct report_options *o,
		       const struct window *w, bool *ret_some)
{
	struct report_style style = report_style_of(stdout);
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, s->sql, -1, &st, NULL);

	style.start_ts = w->start;
	if (r == SQLITE_OK) {
		bind(st, ":from", w->from);
		bind(st, ":to", w->to);
		bind(st, ":top", o->top);
		bind(st, ":pid", o->pid);
		r = print_section(st, s, o, &style, ret_some);
	}
	if (r != SQLITE_OK)
		log_error("report: %s: %s", s->title, sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return r;
}

static int run(const struct report_options *o)
{
	struct trace_tables tables;
	struct err_text e;
	struct window w;
	bool some = false;
	int r = SQLITE_OK;

	if (trace_tables_open(o->file, o->memory, &tables, &e) < 0) {
		log_error("report: %s", e.text);
		return EXIT_FAILED;
	}
	trace_tables_warn(&tables);
	w = window_of(&tables.store, o);
	if (w.from >= w.to) {
		log_error("report: nothing of the trace is between --from and --to");
		trace_tables_close(&tables);
		return EXIT_FAILED;
	}
	if (o->format == REPORT_HTML) {
		/* The last event is in the page, too. */
		r = report_page(&tables, w.from, o->to >= 0 ? w.to : w.to + 1, o->out);
		trace_tables_close(&tables);
		return r;
	}
	if (o->format == REPORT_JSON)
		putchar('{');
	for (size_t i = 0; i < o->report->n_sections && r == SQLITE_OK; i++)
		r = run_section(tables.db, &o->report->sections[i], o, &w, &some);
	if (o->format == REPORT_JSON)
		puts("}");
	if (!some && r == SQLITE_OK && o->format == REPORT_TEXT)
		puts(o->report == &report_loss ? "nothing is missing"
					       : "the trace has no data for this report");
	trace_tables_close(&tables);
	return r == SQLITE_OK ? EXIT_GOOD : EXIT_FAILED;
}

int cmd_report(int argc, char **argv)
{
	struct report_options o = {.report = &report_overview,
				   .pid = NO_PID,
				   .from = -1,
				   .to = -1,
				   .top = DEFAULT_TOP};
	struct err_text e;
	int r = parse(argc, argv, &o, &e);

	if (r > 0)
		return EXIT_GOOD;
	if (r == 0)
		return run(&o);
	log_error("report: %s", e.text);
	log_error("see sonda help report");
	return EXIT_USAGE;
}

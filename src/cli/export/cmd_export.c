/* SPDX-License-Identifier: Apache-2.0 */
/* sonda export FILE: writes a trace in the formats of other programs. */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/report/chosen.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/export/export.h"
#include "cli/export/export_dir.h"
#include "cli/sql_output.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"
#include "cli/trace/out_path.h"
#include "cli/trace/trace_input.h"
#include "cli/trace_tables.h"

static const char usage[] =
	"usage: sonda export FORMAT [OPTION]... FILE\n\n"
	"Converts a trace to another program's format. FILE - is standard input. FORMAT is one "
	"of:\n\n"
	"      --json           Chrome's JSON: slices, scheduler, counters, flows\n"
	"      --csv[=sheet]    a directory with a CSV file for each table; sheet: put ' before "
	"text that a\n"
	"                       spreadsheet would run as a formula\n"
	"      --parquet        a directory with a Parquet file for each table, for DuckDB, "
	"ClickHouse, pandas\n"
	"      --sqlite         an SQLite database with all tables, plus indexes\n"
	"      --folded WHAT    folded stacks, for flame graphs: slices (self time), sched (time "
	"by\n"
	"                       thread and state), stacks (samples), waits (ns, by the waiting\n"
	"                       code), wakers (ns, by the code that ended the wait)\n"
	"      --pprof[=WHAT]   a profile for pprof: stacks (default), waits or wakers\n\n"
	"  -o, --out FILE     output file or directory; - writes to standard output (a directory\n"
	"                     as a tar archive; not with --sqlite). Default: the trace's name\n"
	"                     with .json, .csv, .parquet, .sqlite, .folded or .pb.gz\n"
	"      --force        overwrite an existing output\n"
	"      --memory SIZE  memory limit for the trace, such as 2g (default: half of RAM)\n"
	"  -h, --help         print this help\n\n"
	"example: sonda export --sqlite trace.pftrace\n";

static const char letters[] = ":o:h";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"csv", optional_argument, NULL, 'c'},
	{"parquet", no_argument, NULL, 'P'},
	{"sqlite", no_argument, NULL, 's'},
	{"folded", required_argument, NULL, 'f'},
	{"pprof", optional_argument, NULL, 'p'},
	{"out", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 'F'},
	{"memory", required_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct form {
	const char *suffix;
	int (*text)(const struct trace_tables *t, FILE *to); /* one stream */
	int (*path)(const struct trace_tables *t, const struct out_path *out,
		    struct err_text *e); /* or a file */
	int (*dir)(const struct trace_tables *t, const struct export_dir *to,
		   struct err_text *e); /* or several files */
	const char *needs; /* forms of stacks: a statement that has a row if the trace has stacks */
	const char *lacks; /* what the trace lacks otherwise */
};

static const struct form form_json = {.suffix = "json", .text = export_json};
static const struct form form_csv = {.suffix = "csv", .dir = export_csv};
static const struct form form_sheet = {.suffix = "csv", .dir = export_csv_sheet};
static const struct form form_parquet = {.suffix = "parquet", .dir = export_parquet};
static const struct form form_sqlite = {.suffix = "sqlite", .path = export_sqlite};
static const struct form form_slices = {
	.suffix = "folded",
	.text = export_folded_slices,
	.needs = "select 1 from __intrinsic_slice limit 1",
	.lacks = "slices; record programs that use libsonda: sonda record --app NAME",
};

#define NEEDS_SAMPLES                                                                              \
	"select 1 from stack_sample where source is not 'linux.waits' and source is not "          \
	"'linux.wakers' limit 1"
#define NEEDS_WAITS                                                                                \
	"select 1 from stack_sample where source = 'linux.waits' union all select 1 from "         \
	"thread_track where name = 'waits' limit 1"
#define LACKS_SAMPLES "call-stack samples; record them with: sonda record stacks"
#define LACKS_WAITS "waits; record them with: sonda record waits"

static const struct form form_stacks = {
	.suffix = "folded",
	.text = export_folded_stacks,
	.needs = NEEDS_SAMPLES,
	.lacks = LACKS_SAMPLES,
};
static const struct form form_waits = {
	.suffix = "folded",
	.text = export_folded_waits,
	.needs = NEEDS_WAITS,
	.lacks = LACKS_WAITS,
};
static const struct form form_wakers = {
	.suffix = "folded",
	.text = export_folded_wakers,
	.needs = NEEDS_WAITS,
	.lacks = LACKS_WAITS,
};
static const struct form form_pprof_stacks = {
	.suffix = "pb.gz",
	.text = export_pprof_stacks,
	.needs = NEEDS_SAMPLES,
	.lacks = LACKS_SAMPLES,
};
static const struct form form_pprof_waits = {
	.suffix = "pb.gz",
	.text = export_pprof_waits,
	.needs = NEEDS_WAITS,
	.lacks = LACKS_WAITS,
};
static const struct form form_pprof_wakers = {
	.suffix = "pb.gz",
	.text = export_pprof_wakers,
	.needs = NEEDS_WAITS,
	.lacks = LACKS_WAITS,
};
static const struct form form_sched = {
	.suffix = "folded",
	.text = export_folded_sched,
	.needs = "select 1 from thread_state where dur > 0 limit 1",
	.lacks = "thread states; record them with: sonda record sched",
};

struct export_options {
	const struct form *form;
	const char *file, *out;
	char default_out[PATH_MAX];
	uint64_t memory; /* bytes; 0: the default */
	bool force;
};

/* ---- the command line ---- */

static int set_form(const struct form *form, struct export_options *o, struct err_text *e)
{
	if (o->form)
		return err_set(e, -EINVAL, "only one output format can be given");
	o->form = form;
	return 0;
}

struct form_name {
	const char *name;
	const struct form *form;
};

static const struct form_name folded_forms[] = {
	{"slices", &form_slices}, {"sched", &form_sched},   {"stacks", &form_stacks},
	{"waits", &form_waits},	  {"wakers", &form_wakers},
};
static const struct form_name pprof_forms[] = {
	{"stacks", &form_pprof_stacks},
	{"waits", &form_pprof_waits},
	{"wakers", &form_pprof_wakers},
};

static int set_form_by_name(const struct form_name *names, size_t n, const char *name,
			    struct export_options *o, struct err_text *e)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i].name, name))
			return set_form(names[i].form, o, e);
	return names == folded_forms
		       ? err_set(e, -EINVAL,
				 "--folded takes slices, sched, stacks, waits or wakers, not %.80s",
				 name)
		       : err_set(e, -EINVAL, "--pprof takes stacks, waits or wakers, not %.80s",
				 name);
}

static int export_handle_option(void *ctx, int option, struct err_text *e)
{
	struct export_options *o = ctx;
	enum sql_format csv;

	switch (option) {
	case 'j':
		return set_form(&form_json, o, e);
	case 'c':
		return sql_parse_csv_format(optarg, &csv, e)
			       ?: set_form(csv == SQL_CSV ? &form_csv : &form_sheet, o, e);
	case 'P':
		return set_form(&form_parquet, o, e);
	case 's':
		return set_form(&form_sqlite, o, e);
	case 'f':
		return set_form_by_name(folded_forms, ARRAY_SIZE(folded_forms), optarg, o, e);
	case 'p':
		return set_form_by_name(pprof_forms, ARRAY_SIZE(pprof_forms),
					optarg ? optarg : "stacks", o, e);
	case 'o':
		o->out = optarg;
		return *optarg ? 0 : err_set(e, -EINVAL, "-o needs a file name");
	case 'F':
		o->force = true;
		return 0;
	case 'm':
		return trace_tables_parse_memory(optarg, &o->memory, e);
	default:
		return -EINVAL;
	}
}

/* Names the output like the trace, with the suffix of the form: "a/trace.json" for
 * "a/trace.pftrace". */
static int make_default_path(struct export_options *o, struct err_text *e)
{
	const char *slash = strrchr(o->file, '/'), *name = slash ? slash + 1 : o->file;
	const char *dot = strrchr(name, '.');
	size_t len = dot && dot != name ? (size_t)(dot - o->file) : strlen(o->file);

	if (!strcmp(o->file, "-"))
		return err_set(e, -EINVAL, "a trace on standard input needs -o FILE");
	if (len + strlen(o->form->suffix) + 2 > sizeof(o->default_out))
		return err_set(e, -EINVAL,
			       "the output's name would be too long; choose one with -o");
	snprintf(o->default_out, sizeof(o->default_out), "%.*s.%s", (int)len, o->file,
		 o->form->suffix);
	o->out = o->default_out;
	return 0;
}

/* Takes FILE from the words, checks the options, and sets the default name of the output. Returns
 * 0, or -EINVAL and sets e. */
static int export_complete_options(struct export_options *o, char **words, int n,
				   struct err_text *e)
{
	if (!o->form)
		return err_set(e, -EINVAL,
			       "no output format; use --json, --csv, --parquet, --sqlite or "
			       "--folded slices");
	if (n == 0)
		return err_set(e, -EINVAL, "FILE is missing");
	if (n > 1)
		return err_set(e, -EINVAL, "only one FILE can be given");
	o->file = words[0];
	if (!o->out)
		return make_default_path(o, e);
	if (trace_input_is_output(o->file, o->out))
		return err_set(e, -EINVAL, "-o '%.80s' is the input file; choose another name",
			       o->out);
	if (!strcmp(o->out, "-") && o->form->path)
		return err_set(e, -EINVAL, "--%s cannot be written to standard output",
			       o->form->suffix);
	return 0;
}

/* Returns 0, 1 after the help, or -EINVAL and sets e. */
static int export_parse(int argc, char **argv, struct export_options *o, struct err_text *e)
{
	int r = options_parse(argc, argv, letters, long_options, export_handle_option, o, e);

	if (r > 0)
		help_print(usage);
	return r ? r : export_complete_options(o, argv + optind, argc - optind, e);
}

/* ---- the output ---- */

static int export_write_dir(const struct export_options *o, const struct out_path *out,
			    const struct trace_tables *t, struct err_text *e)
{
	struct export_dir to = {.out = out, .tar = stdout, .path = o->out};
	int r = o->form->dir(t, &to, e);

	export_dir_finish(&to);
	return r;
}

static int export_write_text(const struct export_options *o, const struct trace_tables *t, FILE *to,
			     struct err_text *e)
{
	int r = o->form->text(t, to);
	int closed = to == stdout ? 0 : out_close(to, o->out, e); /* main() checks stdout */

	if (closed < 0)
		return closed;
	/* If our own allocation failed, the database reports no error. */
	return r == SQLITE_OK
		       ? 0
		       : err_set(e, -EIO, "cannot read the tables of %s: %s", o->file,
				 r == SQLITE_NOMEM ? sqlite3_errstr(r) : sqlite3_errmsg(t->db));
}

static int write_output(const struct export_options *o, const struct out_path *out,
			const struct trace_tables *t, struct err_text *e)
{
	FILE *to;

	if (o->form->path)
		return o->form->path(t, out, e);
	if (o->form->dir)
		return export_write_dir(o, out, t, e);
	to = out_path_open(out, NULL);
	if (!to)
		return err_set(e, -errno, "cannot create %s: %s", o->out, strerror(errno));
	return export_write_text(o, t, to, e);
}

/* Prepares an export of stacks: processes get their whole titles as names. Fails if the trace has
 * no such stacks. */
static int prepare_folded_stacks(const struct export_options *o, sqlite3 *db, struct err_text *e)
{
	sqlite3_stmt *st;
	int r = chosen_use_titles(db);

	if (r == SQLITE_OK)
		r = sqlite3_prepare_v2(db, o->form->needs, -1, &st, NULL);
	if (r != SQLITE_OK)
		return err_set(e, -EIO, "cannot read the tables of %s: %s", o->file,
			       sqlite3_errmsg(db));
	r = sqlite3_step(st);
	sqlite3_finalize(st);
	return r == SQLITE_ROW ? 0
			       : err_set(e, -ENODATA, "%.200s has no %s", o->file, o->form->lacks);
}

static int export_to_path(const struct export_options *o, struct out_path *out, struct err_text *e)
{
	struct trace_tables tables;
	int r = trace_tables_open(o->file, o->memory, &tables, e);

	if (r < 0)
		return r;
	trace_tables_warn(&tables);
	r = o->form->needs ? prepare_folded_stacks(o, tables.db, e) : 0;
	if (r == 0)
		r = out->hidden	   ? write_output(o, out, &tables, e)
		    : o->form->dir ? export_write_dir(o, NULL, &tables, e)
				   : export_write_text(o, &tables, stdout, e);
	trace_tables_close(&tables);
	return r;
}

static int export_run(const struct export_options *o, struct err_text *e)
{
	bool is_stdout = !strcmp(o->out, "-");
	struct out_path out = {0};
	int r = is_stdout ? 0 : out_path_create(&out, o->out, o->form->dir != NULL, o->force, e);

	if (r == 0)
		r = export_to_path(o, &out, e);
	if (r == 0 && !is_stdout)
		r = out_path_finish(&out, e);
	if (out.hidden)
		out_path_deinit(&out);
	if (r == 0 && !is_stdout)
		verb_print_file_name(o->out, "");
	return r;
}

int cmd_export(int argc, char **argv)
{
	struct export_options o = {0};
	struct err_text e;
	int r = export_parse(argc, argv, &o, &e);

	if (r > 0)
		return EXIT_GOOD;
	if (r < 0) {
		log_error("export: %s", e.text);
		log_error("see sonda help export");
		return EXIT_USAGE;
	}
	if (export_run(&o, &e) == 0)
		return EXIT_GOOD;
	log_error("export: %s", e.text);
	return EXIT_FAILED;
}

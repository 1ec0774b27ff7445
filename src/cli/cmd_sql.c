/* SPDX-License-Identifier: Apache-2.0 */
/* sonda sql FILE STATEMENT...: SQL on a trace. */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/dialect/database.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/sql_output.h"
#include "cli/sql_prompt.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"
#include "cli/trace_tables.h"

#define MAX_SCRIPT_BYTES (16u << 20)

struct sql_options {
	const char *file, *script;
	const char *modules; /* a directory; NULL: none */
	enum sql_format format;
	bool prompt;
	bool read_only;
	uint64_t memory; /* bytes; 0: the default */
	char **statements;
	int n_statements;
};

static const char usage[] =
	"usage: sonda sql [OPTION]... FILE STATEMENT...\n"
	"       sonda sql [OPTION]... -f SCRIPT FILE\n"
	"       sonda sql [OPTION]... -i FILE\n\n"
	"Runs SQL on a trace. FILE is a sonda or Perfetto trace; - is standard input. Tables are "
	"named as in\n"
	"trace_processor: sched, thread_state, thread, process, ftrace_event, args, stats, ...\n\n"
	"  -f, --file SCRIPT  run the statements in a file; - is standard input\n"
	"  -i, --interactive  read statements from a prompt with history and completion; see .help "
	"there\n"
	"      --csv[=sheet]  print rows as CSV; sheet: put ' before text that a spreadsheet would "
	"run\n"
	"                     as a formula\n"
	"      --json         print rows as JSON: an array of objects for each statement\n"
	"      --modules DIR  also search DIR for INCLUDE PERFETTO MODULE, such as a Perfetto "
	"checkout\n"
	"      --read-only    refuse statements that could access other files: ATTACH, PRAGMA\n"
	"      --no-cache     import the trace again; neither read nor write the cache\n"
	"      --memory SIZE  memory limit for the trace, such as 2g (default: half of RAM)\n"
	"  -h, --help         print this help\n\n"
	"example: sonda sql trace.pftrace 'select name, sum(dur) from sched join thread using "
	"(utid) group by utid'\n";

static const char letters[] = ":f:ih";

static const struct option long_options[] = {
	{"file", required_argument, NULL, 'f'},	   {"csv", optional_argument, NULL, 'c'},
	{"json", no_argument, NULL, 'j'},	   {"memory", required_argument, NULL, 'm'},
	{"modules", required_argument, NULL, 'M'}, {"interactive", no_argument, NULL, 'i'},
	{"read-only", no_argument, NULL, 'r'},	   {"no-cache", no_argument, NULL, 'N'},
	{"help", no_argument, NULL, 'h'},	   {0},
};

static int sql_handle_option(void *ctx, int option, struct err_text *e)
{
	struct sql_options *o = ctx;

	switch (option) {
	case 'f':
		o->script = optarg;
		return 0;
	case 'i':
		o->prompt = true;
		return 0;
	case 'c':
	case 'j':
		if (o->format != SQL_TABLE && (o->format == SQL_JSON) != (option == 'j'))
			return err_set(e, -EINVAL, "--csv and --json cannot be combined");
		o->format = SQL_JSON;
		return option == 'c' ? sql_parse_csv_format(optarg, &o->format, e) : 0;
	case 'N':
		return trace_tables_disable_cache(e);
	case 'r':
		o->read_only = true;
		return 0;
	case 'M':
		o->modules = optarg;
		return 0;
	case 'm':
		return trace_tables_parse_memory(optarg, &o->memory, e);
	default:
		return -EINVAL;
	}
}

/* Returns 0, 1 after the help, or -EINVAL and sets e. */
static int sql_parse_arguments(int argc, char **argv, struct sql_options *o, struct err_text *e)
{
	int r = options_parse(argc, argv, letters, long_options, sql_handle_option, o, e);
	bool is_empty = false;

	if (r > 0)
		help_print(usage);
	if (r)
		return r;
	if (optind == argc)
		return err_set(e, -EINVAL, "FILE is missing");
	o->file = argv[optind++];
	o->statements = argv + optind;
	o->n_statements = argc - optind;
	if (o->prompt && !strcmp(o->file, "-"))
		return err_set(e, -EINVAL, "-i cannot be combined with a trace on standard input");
	for (int i = 0; i < o->n_statements; i++)
		is_empty |= !o->statements[i][strspn(o->statements[i], " ;\t\n")];
	if ((!o->script && !o->n_statements && !o->prompt) || is_empty)
		return err_set(e, -EINVAL,
			       "STATEMENT is missing; example: 'select * from sched limit 5', or "
			       "-i for a prompt");
	return 0;
}

/* Runs all statements of a text. Returns an exit code. */
static int run_sql_text(struct database *d, const char *sql, enum sql_format format)
{
	size_t at = 0;

	while (sql[at]) {
		struct err_text e, left_out;
		sqlite3_stmt *st;
		int r = database_prepare(d, sql, &at, &st, &e);

		if (r == 0 && st) {
			r = sql_output(st, format, stdout);
			err_set(&e, -EINVAL, "%s", sqlite3_errmsg(database_sqlite(d)));
		}
		sqlite3_finalize(st);
		if (database_pop_left_out(d, &left_out))
			log_warn("sql: %s", left_out.text);
		if (r) {
			log_error("sql: %s", e.text);
			return EXIT_FAILED;
		}
	}
	return EXIT_GOOD;
}

static int run_sql_script(struct database *d, const struct sql_options *o)
{
	bool is_stdin = !strcmp(o->script, "-");
	struct strbuf text = {0};
	int r = is_stdin ? fs_read_fd(STDIN_FILENO, MAX_SCRIPT_BYTES, &text)
			 : fs_read_file(o->script, MAX_SCRIPT_BYTES, &text);

	if (r < 0)
		log_error("sql: cannot read %s: %s", o->script, strerror(-r));
	else if (text.s)
		r = run_sql_text(d, text.s, o->format);
	strbuf_deinit(&text);
	return r < 0 ? EXIT_FAILED : r;
}

/* For sqlite3_set_authorizer(): refuses what reads or writes another file, or changes settings of
 * the process. VACUUM INTO attaches its file. */
static int authorize_statement(void *ctx, int action, const char *a, const char *b, const char *c,
			       const char *d)
{
	static const char *const harmless[] = {"table_info", "table_xinfo", "table_list"};

	if (action == SQLITE_PRAGMA)
		for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
			if (a && !strcmp(a, harmless[i]))
				return SQLITE_OK;
	return action == SQLITE_PRAGMA || action == SQLITE_ATTACH || action == SQLITE_DETACH
		       ? SQLITE_DENY
		       : SQLITE_OK;
}

static int sql_run(const struct sql_options *o)
{
	struct trace_tables tables;
	struct err_text e;
	int code = EXIT_GOOD;

	if (trace_tables_open(o->file, o->memory, &tables, &e) < 0) {
		log_error("sql: %s", e.text);
		return EXIT_FAILED;
	}
	trace_tables_warn(&tables);
	if (o->read_only)
		sqlite3_set_authorizer(tables.db, authorize_statement, NULL);
	if (o->modules && database_use_modules(tables.database, o->modules, &e) < 0) {
		log_error("sql: --modules: %s", e.text);
		code = EXIT_FAILED;
	}
	if (o->script && code == EXIT_GOOD)
		code = run_sql_script(tables.database, o);
	for (int i = 0; i < o->n_statements && code == EXIT_GOOD; i++)
		code = run_sql_text(tables.database, o->statements[i], o->format);
	if (o->prompt && code == EXIT_GOOD)
		code = sql_prompt(tables.database, o->format);
	trace_tables_close(&tables);
	return code;
}

int cmd_sql(int argc, char **argv)
{
	struct sql_options o = {.format = SQL_TABLE};
	struct err_text e;
	int r = sql_parse_arguments(argc, argv, &o, &e);

	if (r > 0)
		return EXIT_GOOD;
	if (r == 0)
		return sql_run(&o);
	log_error("sql: %s", e.text);
	log_error("see sonda help sql");
	return EXIT_USAGE;
}

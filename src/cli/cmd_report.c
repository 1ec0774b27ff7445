/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report [NAME] [FILE]: answers about a trace in the terminal. */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/page/page.h"
#include "analyze/report/chosen.h"
#include "analyze/report/limits_of_trace.h"
#include "analyze/report/machines.h"
#include "analyze/report/passes.h"
#include "analyze/report/report.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/recorder/crash_boots.h"
#include "cli/recorder/recorder_crash.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/report/record_facts.h"
#include "cli/report_findings.h"
#include "cli/report_options.h"
#include "cli/report_table.h"
#include "cli/sql_output.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/verb.h"
#include "cli/trace/out_path.h"
#include "cli/trace/trace_input.h"
#include "cli/trace_tables.h"

/* ---- the page ---- */

/* Writes the page to `to` and closes it, unless it is stdout. to: NULL with errno set if it could
 * not be opened. */
static int write_page_to_stream(FILE *to, const char *path, struct trace_tables *tables,
				const struct page_options *o, struct page_result *ret,
				struct err_text *e)
{
	int r = to ? page_write(&tables->store, o, to, ret) : -errno;

	if (r == 0)
		return out_close(to, path, e);
	if (to && to != stdout)
		fclose(to);
	return err_set(e, r, "cannot write %s: %s", path, strerror(-r));
}

/* Writes the page to the file at path. Only its owner may read a new file, like the trace. */
static int write_page_file(const char *path, struct trace_tables *tables,
			   const struct page_options *o, struct page_result *ret,
			   struct err_text *e)
{
	struct out_path out;
	FILE *special;
	int r;

	if (!strcmp(path, "-"))
		return write_page_to_stream(stdout, path, tables, o, ret, e);
	r = out_path_open_special(path, &special, e);
	if (r < 0)
		return r;
	if (special)
		return write_page_to_stream(special, path, tables, o, ret, e);
	r = out_path_create(&out, path, false, true, e);
	if (r < 0)
		return r;
	r = write_page_to_stream(out_path_open(&out, NULL), path, tables, o, ret, e);
	if (r == 0)
		return out_path_finish(&out, e);
	out_path_deinit(&out);
	return r;
}

static double seconds_of_ns(int64_t ns)
{
	return (double)ns / 1e9;
}

/* sonda report --html: writes the page of a window of the trace to the file at path; "-" is the
 * standard output. from, to: the window, in ns of the trace's clock. Logs what the page does not
 * have. Returns an exit code. */
static int report_page(struct trace_tables *tables, int64_t from, int64_t to, const char *path)
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

	if (write_page_file(path, tables, &o, &result, &e) < 0) {
		log_error("report: %s", e.text);
		return EXIT_FAILED;
	}
	if (result.to < to)
		log_warn("the page is full (%" PRIu64 " rows) and ends at %.6f s: %" PRIu64
			 " later rows are left out; show them with --from %.6f",
			 result.rows, seconds_of_ns(result.to - s->start_ts), result.left_out,
			 seconds_of_ns(result.to - s->start_ts));
	if (s->tables[TABLE_FTRACE].rows || s->n_arg_sets)
		log_info("the page shows CPUs, threads, slices and counters; the raw kernel events "
			 "(%" PRIu32 ") are only in the trace: sonda sql %s \"select * from "
			 "ftrace_event\"",
			 s->tables[TABLE_FTRACE].rows, str_word(tables->path, word));
	return EXIT_GOOD;
}

#define BLOCKS_WIDTH 100 /* width of a line of blocks without a terminal */
#define BLOCKS_BESIDE 36 /* columns beside the blocks: a thread's name, its number, its times */
#define BLOCKS_MIN 16
#define DEFAULT_TOP 20

/* A report as it is printed. */
struct output {
	const struct report_options *o;
	struct report_style style;
	struct trace_tables tables;
	struct report_losses losses;
	int64_t from, to; /* the window in the trace's clock */
	int64_t asked_ns; /* how long the config asks to record; 0: not stated */
	FILE *out;
	bool some; /* a table was printed */
	bool has_rows; /* a table of this part had a row */
	bool any; /* a table of any part had a row, or a finding could be checked */
	bool several; /* the report has a part for each machine */
	bool of_trace; /* this part has only tables that belong to no single machine */
	int64_t machine; /* of this part */
	struct machine_list machines;
	struct machine_scope scope;
};

/* ---- one table ---- */

static void bind_number(sqlite3_stmt *st, const char *name, int64_t v)
{
	int i = sqlite3_bind_parameter_index(st, name);

	if (i)
		sqlite3_bind_int64(st, i, v);
}

static void bind_parameters(sqlite3_stmt *st, const struct report_section *s, struct output *p)
{
	int64_t top = p->o->top ?: s->top ?: DEFAULT_TOP;
	int width = p->style.width ? MAX(p->style.width - BLOCKS_BESIDE, BLOCKS_MIN) : BLOCKS_WIDTH;
	int i = sqlite3_bind_parameter_index(st, ":blocks");

	bind_number(st, ":from", p->from);
	bind_number(st, ":to", p->to);
	bind_number(st, ":top", top);
	bind_number(st, ":more", p->o->format == REPORT_TEXT);
	bind_number(st, ":text", p->o->format == REPORT_TEXT);
	bind_number(st, ":width", width);
	if (p->asked_ns) /* otherwise NULL stays bound */
		bind_number(st, ":asked", p->asked_ns);
	if (p->losses.events) /* otherwise NULL stays bound */
		bind_number(st, ":lost", (int64_t)p->losses.events);
	p->style.top = sqlite3_bind_parameter_index(st, ":more") ? top : INT64_MAX;
	if (p->o->function)
		sqlite3_bind_text(st, sqlite3_bind_parameter_index(st, ":function"), p->o->function,
				  -1, SQLITE_STATIC);
	if (i)
		sqlite3_bind_text(st, i, report_style_blocks(&p->style), -1, SQLITE_STATIC);
}

static bool names_threads(const struct report_options *o)
{
	return o->n_words || o->n_subjects;
}

/* Returns what the title adds for a table that -p does not limit, else "". */
static const char *title_suffix(const struct report_section *s, const struct output *p)
{
	return s->of_machine && names_threads(p->o) ? ", of the whole machine" : "";
}

/* Appends the command that shows more about a table. A report about a thread takes the thread as a
 * word, other reports take it with -p. */
static void put_more_command(const struct report_section *s, const struct output *p,
			     struct strbuf *b)
{
	const struct report_options *o = p->o;
	const struct report *more = report_find(s->more);
	bool is_word = more && more->of_thread;

	strbuf_printf(b, "(sonda report %s%s", s->more, is_word && !names_threads(o) ? " PID" : "");
	for (size_t i = 0; i < o->n_words && !s->of_machine; i++) {
		strbuf_puts(b, i ? "," : is_word ? " " : " -p ");
		strbuf_put_word(b, o->words[i]);
	}
	for (size_t i = 0; i < o->n_subjects && !s->of_machine && !o->report->of_subject; i++) {
		strbuf_printf(b, " --%s ", o->subjects[i].kind);
		strbuf_put_word(b, o->subjects[i].name);
	}
	if (p->several && !p->of_trace)
		strbuf_printf(b, " --machine %" PRId64, p->machine);
	if (o->file) {
		strbuf_putc(b, ' ');
		strbuf_put_word(b, o->file);
	}
	strbuf_putc(b, ')');
}

/* Prints the title, the note, and the command that shows more. A note that does not fit into the
 * line is omitted. A command that does not fit gets a line of its own. */
static void print_title(const struct report_section *s, const struct output *p)
{
	struct strbuf more = {0};
	int room = (p->style.width ?: INT_MAX) - report_text_width(s->heading) -
		   report_text_width(title_suffix(s, p));

	fprintf(p->out, "%s%s%s%s", report_style_bold(&p->style), s->heading, title_suffix(s, p),
		report_style_plain(&p->style));
	if (s->note && room >= report_text_width(s->note) + 2) {
		fprintf(p->out, ": %s", s->note);
		room -= report_text_width(s->note) + 2;
	}
	if (s->more) {
		put_more_command(s, p, &more);
		fprintf(p->out, "%s%s%s%s",
			room >= report_text_width(more.s ? more.s : "") + 3 ? "   " : "\n  ",
			report_style_dim(&p->style), more.s ? more.s : "",
			report_style_plain(&p->style));
		strbuf_deinit(&more);
	}
	fputc('\n', p->out);
}

/* Prints a line for each system call: thread, time since the trace's start, the call, and how long
 * it took. Returns an SQLite result code. */
static int print_calls(sqlite3_stmt *st, struct output *p)
{
	int r;

	while ((r = sqlite3_step(st)) == SQLITE_ROW) {
		double at = (double)(sqlite3_column_int64(st, 0) - p->style.start_ts) / 1e9;
		const char *call = (const char *)sqlite3_column_text(st, 3);

		fprintf(p->out, "%-7lld %.6f %s", sqlite3_column_int64(st, 2), at, call ?: "");
		if (sqlite3_column_type(st, 1) != SQLITE_NULL)
			fprintf(p->out, " <%.6f>", (double)sqlite3_column_int64(st, 1) / 1e9);
		fputc('\n', p->out);
		p->some = p->has_rows = true;
	}
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

static int print_text(sqlite3_stmt *st, const struct report_section *s, struct output *p)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	int n, r;

	if (!to)
		return SQLITE_NOMEM;
	n = report_table_print(st, &p->style, to);
	r = fclose(to) ? SQLITE_NOMEM : n < 0 ? SQLITE_ERROR : SQLITE_OK;
	if (r == SQLITE_OK && n > 0) {
		if (p->some)
			fputc('\n', p->out);
		print_title(s, p);
		fputs(text, p->out);
		p->some = p->has_rows = true;
	}
	free(text);
	return r;
}

/* Prints the name of a table in JSON, and what comes before its rows. st: its statement, not run
 * yet; NULL: the trace lacks what it needs. Returns an SQLite result code. */
static int print_json_head(sqlite3_stmt *st, const struct report_section *s, struct output *p)
{
	struct strbuf b = {0};
	int r = SQLITE_OK;

	strbuf_puts(&b, p->some ? ", " : "");
	strbuf_put_json(&b, p->o->keys ? s->key : s->title);
	strbuf_puts(&b, ": ");
	if (p->o->keys) {
		struct strbuf title = {0};

		strbuf_printf(&title, "%s%s", s->heading, title_suffix(s, p));
		strbuf_puts(&b, "{\"title\": ");
		strbuf_put_json(&b, title.s ? title.s : "");
		strbuf_puts(&b, ", \"columns\": ");
		if (st)
			sql_output_put_columns(st, &b);
		else
			strbuf_puts(&b, "[]");
		strbuf_puts(&b, ", \"rows\": ");
		strbuf_deinit(&title);
	}
	p->some = true;
	if (b.failed || fputs(b.s, p->out) < 0)
		r = SQLITE_NOMEM;
	strbuf_deinit(&b);
	return r;
}

static int print_json_table(sqlite3_stmt *st, const struct report_section *s, struct output *p,
			    bool *ret_some)
{
	int r = print_json_head(st, s, p);

	*ret_some = false;
	if (r == SQLITE_OK)
		r = sql_output_write_and_check(st, p->o->keys ? SQL_JSON_NUMBERS : SQL_JSON, p->out,
					       ret_some);
	fputs(p->o->keys ? "}" : "", p->out);
	return r;
}

/* Prints a table. A table without rows is left out of a text, but not of CSV and JSON. Returns an
 * SQLite result code. */
static int print_section(sqlite3_stmt *st, const struct report_section *s, struct output *p)
{
	bool some;
	int r;

	switch (p->o->format) {
	case REPORT_CSV:
		fprintf(p->out, "# %s%s", s->title, title_suffix(s, p));
		if (p->several && !p->of_trace)
			fprintf(p->out, ", machine %" PRId64, p->machine);
		fputc('\n', p->out);
		r = sql_output_write_and_check(st, p->o->csv, p->out, &some);
		break;
	case REPORT_JSON:
		r = print_json_table(st, s, p, &some);
		break;
	default:
		return p->o->lines ? print_calls(st, p) : print_text(st, s, p);
	}
	p->has_rows |= some;
	return r;
}

/* Prints why there is no table; as text only below a table. Returns an SQLite result code. */
static int print_why_no_table(const struct report_section *s, const char *lacks, struct output *p)
{
	int r = SQLITE_OK;

	if (p->o->format == REPORT_CSV) {
		fprintf(p->out, "# %s: %s\n", s->title, lacks);
	} else if (p->o->format == REPORT_JSON) {
		r = print_json_head(NULL, s, p);
		fprintf(p->out, p->o->keys ? "[], \"lacks\": \"%s\"}" : "null", lacks);
	} else if (p->some) {
		fprintf(p->out, "\n%s%s%s: %s\n", report_style_bold(&p->style), s->heading,
			report_style_plain(&p->style), lacks);
	}
	return r;
}

static int run_section(const struct report_section *s, struct output *p)
{
	const char *lacks = s->lacks ? s->lacks(&p->tables.store) : NULL;
	sqlite3 *db = p->tables.db;
	sqlite3_stmt *st;
	int r;

	if (lacks)
		return print_why_no_table(s, lacks, p);
	r = sqlite3_prepare_v2(db, s->sql, -1, &st, NULL);

	if (r == SQLITE_OK) {
		bind_parameters(st, s, p);
		r = print_section(st, s, p);
	}
	if (r != SQLITE_OK)
		log_error("report: %s: %s", s->title, sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return r;
}

/* ---- the report ---- */

static bool section_is_requested(const struct report_section *s, const struct output *p)
{
	const char *by = p->o->by;

	if (p->several && s->of_trace != p->of_trace)
		return false;
	return by ? s->by && !strcmp(s->by, by) : !s->on_request;
}

/* Returns true for the report on losses, which is empty if nothing was lost. */
static bool is_report_of_losses(const struct report *r)
{
	return !strcmp(r->name, "loss");
}

/* Returns true if a list of words, separated by blanks, has the word. */
static bool has_word(const char *list, const char *word, size_t len)
{
	for (size_t n; *list; list += n + strspn(list + n, " ")) {
		n = strcspn(list, " ");
		if (n == len && !memcmp(list, word, len))
			return true;
	}
	return false;
}

/* Appends to `to` the words of a list that it does not contain yet. */
static void add_words(const char *words, struct strbuf *to)
{
	for (size_t n; words && *words; words += n + strspn(words + n, " ")) {
		n = strcspn(words, " ");
		if (!has_word(to->s ? to->s : "", words, n))
			strbuf_printf(to, "%s%.*s", to->len ? " " : "", (int)n, words);
	}
}

/* Writes the words of sonda record for the report, or for the tables that --by selects. */
static void put_words_of_record(const struct output *p, struct strbuf *to)
{
	const struct report *r = p->o->report;

	for (size_t i = 0; i < r->n_sections && p->o->by; i++)
		if (r->sections[i].by && !strcmp(r->sections[i].by, p->o->by))
			add_words(r->sections[i].records, to);
	if (!to->len)
		add_words(r->records, to);
}

static void print_why_empty(const struct output *p)
{
	struct strbuf words = {0};

	put_words_of_record(p, &words);
	if (is_report_of_losses(p->o->report))
		fputs(report_losses_any(&p->losses) ? "" : "nothing is missing\n", p->out);
	else if (p->o->function)
		fprintf(p->out,
			"no call stack in the trace contains the function '%s'; to list functions: "
			"sonda report functions\n",
			p->o->function);
	else if (words.len)
		fprintf(p->out,
			"the trace has no data for this report; record it with: sonda record %s\n",
			words.s);
	else
		fputs("the trace has no data for this report\n", p->out);
	strbuf_deinit(&words);
}

/* Prints what was lost as a further key of the JSON object. Returns an SQLite result code. */
static int print_json_losses(struct output *p)
{
	if (!report_losses_any(&p->losses))
		return SQLITE_OK;
	fprintf(p->out, ", \"%s\": ", p->o->keys ? "lost" : "Lost");
	return report_losses_json(&p->losses, p->tables.db, p->out);
}

/* Reports in a key of the JSON object that no table has a row, and what to record. */
static void print_json_why_empty(const struct output *p)
{
	struct strbuf words = {0};

	put_words_of_record(p, &words);
	if (p->o->keys)
		fprintf(p->out, ", \"record\": \"%s\"", words.len ? words.s : "");
	else
		fprintf(p->out, ", \"No data\": \"%s%s\"",
			words.len ? "record it with: sonda record " : "", words.len ? words.s : "");
	strbuf_deinit(&words);
}

/* Prints the JSON object up to its first table. */
static void print_json_begin(const struct output *p)
{
	fputc('{', p->out);
	if (p->o->keys)
		fprintf(p->out, "\"report\": \"%s\", \"start_ts\": %" PRId64 ", \"tables\": {",
			p->o->report->name, p->tables.store.start_ts);
}

static void print_json_end_of_tables(const struct output *p)
{
	if (p->o->keys)
		fprintf(p->out, "}, \"empty\": %s", p->has_rows ? "false" : "true");
}

/* Returns an SQLite result code. */
static int print_findings(struct output *p)
{
	struct findings_output o = {.tables = &p->tables,
				    .options = p->o,
				    .style = &p->style,
				    .losses = p->several ? NULL : &p->losses,
				    .window = {.from = p->from,
					       .to = p->to,
					       .top = p->o->top ?: DEFAULT_TOP,
					       .more = p->o->format == REPORT_TEXT},
				    .machine = p->several ? p->machine : -1,
				    .out = p->out};
	struct err_text e;
	int r = report_findings_print(&o, &e);

	if (r < 0)
		log_error("report: %s", e.text);
	p->any |= o.answered;
	return r < 0 ? SQLITE_ERROR : SQLITE_OK;
}

/* Returns an SQLite result code. */
static int print_report(struct output *p)
{
	const struct report *report = p->o->report;
	int r = SQLITE_OK;

	if (report->of_findings)
		return print_findings(p);
	if (p->o->format == REPORT_JSON)
		print_json_begin(p);
	for (size_t i = 0; i < report->n_sections && r == SQLITE_OK; i++)
		if (section_is_requested(&report->sections[i], p))
			r = run_section(&report->sections[i], p);
	p->any |= p->has_rows;
	if (p->o->format == REPORT_JSON)
		print_json_end_of_tables(p);
	if (p->o->format == REPORT_JSON && !p->has_rows && !is_report_of_losses(report))
		print_json_why_empty(p);
	if (p->o->format == REPORT_JSON && !p->several)
		r = r == SQLITE_OK ? print_json_losses(p) : r;
	if (p->o->format == REPORT_JSON)
		fputs("}\n", p->out);
	if (!p->some && r == SQLITE_OK && p->o->format == REPORT_TEXT)
		print_why_empty(p);
	return r;
}

/* ---- several machines ---- */

static bool has_requested_section(const struct output *p)
{
	if (p->o->report->of_findings)
		return !p->of_trace;
	for (size_t i = 0; i < p->o->report->n_sections; i++)
		if (section_is_requested(&p->o->report->sections[i], p))
			return true;
	return false;
}

static bool has_chosen_threads(sqlite3 *db)
{
	sqlite3_stmt *st;
	bool some;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM chosen", -1, &st, NULL) != SQLITE_OK)
		return false;
	some = sqlite3_step(st) == SQLITE_ROW;
	sqlite3_finalize(st);
	return some;
}

/* Prints the report below its title, or as the value of a JSON key. n: reports printed before
 * it. */
static int print_titled_report(struct output *p, const char *title, const char *key, size_t n)
{
	p->some = p->has_rows = false;
	if (p->o->format == REPORT_TEXT)
		fprintf(p->out, "%s%s%s%s\n\n", n ? "\n" : "", report_style_bold(&p->style), title,
			report_style_plain(&p->style));
	else if (p->o->format == REPORT_JSON)
		fprintf(p->out, "%s\"%s\": ",
			n	     ? ", "
			: p->o->keys ? "{\"machines\": {"
				     : "{",
			key);
	return print_report(p);
}

static int print_machine(struct output *p, size_t *n)
{
	char key[32];
	char *title;
	int r = machines_restrict_to(p->tables.db, p->machine);

	p->scope.machine = p->machine;
	p->scope.changes++;
	if (r != SQLITE_OK)
		log_error("report: %s", sqlite3_errmsg(p->tables.db));
	if (r != SQLITE_OK || (names_threads(p->o) && !has_chosen_threads(p->tables.db)))
		return r;
	if (!p->several)
		return print_report(p);
	title = machines_title(p->tables.db, p->machine);
	snprintf(key, sizeof(key), p->o->keys ? "%" PRId64 : "machine %" PRId64, p->machine);
	r = print_titled_report(p, title ? title : key, key, (*n)++);
	free(title);
	return r;
}

/* Prints the report of each machine, then what concerns the trace as a whole. Returns an SQLite
 * result code. */
static int print_machines(struct output *p, const struct machine_list *list)
{
	size_t n = 0;
	int r = SQLITE_OK;

	p->several = p->o->machine < 0 && list->n > 1;
	for (int i = 0; i < list->n && r == SQLITE_OK; i++) {
		p->machine = list->ids[i];
		if (has_requested_section(p) && (p->o->machine < 0 || p->o->machine == p->machine))
			r = print_machine(p, &n);
	}
	p->of_trace = true;
	p->scope.machine = MACHINES_ALL;
	p->scope.changes++;
	if (p->several && r == SQLITE_OK && has_requested_section(p))
		r = print_titled_report(p, "All machines", p->o->keys ? "all" : "all machines",
					n++);
	if (n && p->o->format == REPORT_JSON) {
		fputs(p->o->keys ? "}" : "", p->out);
		r = r == SQLITE_OK ? print_json_losses(p) : r;
		fputs("}\n", p->out);
	}
	return r;
}

/* Returns the number of CPUs of the largest machine in the trace; 0 if the trace does not have the
 * number for each machine. */
static unsigned count_cpus(sqlite3 *db)
{
	static const char sql[] = "SELECT CASE WHEN count(*) = count(num_cpus) THEN max(num_cpus) "
				  "END FROM machine";
	sqlite3_stmt *st;
	unsigned n = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = (unsigned)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* Prints what makes the times of threads wrong, if anything does: before the tables of a text, else
 * on stderr. Returns SQLITE_OK, or SQLITE_NOMEM, which it logs. */
static int print_limits(const struct output *p)
{
	const struct import_result *of = &p->tables.result;
	struct strbuf lines = {0};
	int r = SQLITE_OK;

	limits_of_trace_write(of->config, of->config_len, count_cpus(p->tables.db), &lines);
	if (lines.failed) {
		log_error("report: %s", strerror(ENOMEM));
		r = SQLITE_NOMEM;
	}
	for (char *line = lines.s, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (p->o->format == REPORT_TEXT)
			fprintf(p->out, "%s\n%s", line, end[1] ? "" : "\n");
		else
			log_warn("report: %s", line);
	}
	strbuf_deinit(&lines);
	return r;
}

static int print_one_report(struct output *p)
{
	const struct machine_list *list = &p->machines;

	p->some = p->has_rows = p->of_trace = false;
	return list->of_trace > 1 && list->n ? print_machines(p, list) : print_report(p);
}

/* Prints a report of --all with its name, and increments *n, unless the trace has no data for
 * it. */
static int print_report_unless_empty(struct output *p, size_t *n)
{
	FILE *to = p->out;
	char *text = NULL;
	size_t len = 0;
	int r;

	p->any = false;
	p->out = open_memstream(&text, &len);
	r = p->out ? print_one_report(p) : SQLITE_NOMEM;
	if (p->out && fclose(p->out))
		r = SQLITE_NOMEM;
	p->out = to;
	if (r == SQLITE_OK && p->any) {
		const char *name = p->o->report->name;

		if (p->o->format == REPORT_JSON)
			fprintf(to, "%s\"%s\": ", (*n)++ ? ", " : "", name);
		else if (p->o->format == REPORT_CSV)
			fprintf(to, "# report %s\n", name);
		else
			fprintf(to, "%s%ssonda report %s%s\n\n", (*n)++ ? "\n" : "",
				report_style_bold(&p->style), name, report_style_plain(&p->style));
		fwrite(text, 1, len, to);
	}
	free(text);
	return r;
}

/* Returns false if the report is about a thread or a control group, and the options name none. */
static bool names_subject_of_report(const struct report *r, const struct report_options *o)
{
	if (r->of_subject)
		return o->n_subjects && !o->n_words;
	return !r->of_thread || names_threads(o);
}

static int print_all_reports(struct output *p)
{
	const struct report_options *options = p->o;
	struct report_options one = *options;
	size_t n = 0;
	int r = SQLITE_OK;

	p->o = &one;
	if (options->format == REPORT_JSON)
		fputs(options->keys ? "{\"reports\": {" : "{", p->out);
	for (size_t i = 0; i < n_reports && r == SQLITE_OK; i++) {
		one.report = report_at(i);
		if (names_subject_of_report(one.report, options))
			r = print_report_unless_empty(p, &n);
	}
	p->o = options;
	p->any = true;
	if (options->format == REPORT_JSON)
		fputs(options->keys ? "}}\n" : "}\n", p->out);
	return r;
}

static int print_output(struct output *p)
{
	const Pb__TraceConfig *c = p->tables.config;

	p->asked_ns = c ? (int64_t)(record_requested_seconds(c) * 1e9) : 0;
	if (print_limits(p) != SQLITE_OK)
		return SQLITE_NOMEM;
	if (p->o->format == REPORT_TEXT)
		report_losses_print(&p->losses, &p->style, p->out);
	return p->o->all ? print_all_reports(p) : print_one_report(p);
}

/* Returns EXIT_FAILED if the trace has no data for the report, unless it is the default report or
 * that on losses. */
static int choose_exit_code(const struct output *p)
{
	return p->any || is_report_of_losses(p->o->report) || p->o->report == report_at(0)
		       ? EXIT_GOOD
		       : EXIT_FAILED;
}

/* Prints the report to stdout, or through the pager once it is complete. Returns an exit code. */
static int print_to_user(struct output *p)
{
	char *text = NULL;
	size_t len = 0;
	int r;

	p->out = stdout;
	if (p->o->no_pager || !isatty(STDOUT_FILENO))
		return print_output(p) == SQLITE_OK ? choose_exit_code(p) : EXIT_FAILED;
	p->out = open_memstream(&text, &len);
	if (!p->out) {
		log_error("report: %s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	r = print_output(p);
	if (fclose(p->out) == 0)
		pager_show(text, len);
	else
		r = SQLITE_NOMEM;
	free(text);
	return r == SQLITE_OK ? choose_exit_code(p) : EXIT_FAILED;
}

/* Returns the time `ns` after the trace's start, at most its end. */
static int64_t time_after_start(const struct store *s, int64_t ns)
{
	int64_t ts;

	return __builtin_add_overflow(s->start_ts, ns, &ts) ? s->end_ts : MIN(ts, s->end_ts);
}

/* Sets the window to that of --from and --to within the trace. Returns 0, or -errno and sets e. */
static int set_window(struct output *p, struct err_text *e)
{
	const struct report_options *o = p->o;
	const struct store *s = &p->tables.store;

	if (s->start_ts >= s->end_ts)
		return err_set(e, -ENODATA, "the trace contains no timestamped events");
	p->style.start_ts = s->start_ts;
	p->from = o->from >= 0 ? time_after_start(s, o->from) : s->start_ts;
	p->to = o->to >= 0 ? time_after_start(s, o->to) : s->end_ts;
	if (p->from >= p->to)
		return err_set(e, -EINVAL,
			       "the trace has no data between --from and --to; it is %.3f s long",
			       (double)(s->end_ts - s->start_ts) / 1e9);
	return 0;
}

static bool has_machine(const struct output *p)
{
	for (int i = 0; i < p->machines.n; i++)
		if (p->machines.ids[i] == p->o->machine)
			return true;
	return p->o->machine < 0;
}

static int refuse_unknown_subject(const struct output *p, const struct chosen_subject *s,
				  struct err_text *e)
{
	bool any = !*s->kind;
	const char *what = any				? "container, unit, pod or control group"
			   : !strcmp(s->kind, "cgroup") ? "control group"
							: s->kind;

	if (any && !p->o->file && access(s->name, R_OK) == 0)
		return err_set(e, -EINVAL,
			       "'%.80s' is a file; usage: sonda report neighbours CONTAINER %.80s",
			       s->name, s->name);
	return err_set(e, -ENOENT, "%s has no threads in %s '%.80s'; see sonda report cpu --by %s",
		       p->tables.path, what, s->name, any ? "container" : s->kind);
}

/* Sets e: the trace has no such subject, process or thread; did you mean the nearest name? word: an
 * element of p->o->words, or the name of one of the subjects. Returns -ENOENT. */
static int refuse_unknown_thread(struct output *p, const char *word, struct err_text *e)
{
	char best[STR_NEAREST_SIZE];
	const char *nearest;

	for (size_t i = 0; i < p->o->n_subjects; i++)
		if (word == p->o->subjects[i].name)
			return refuse_unknown_subject(p, &p->o->subjects[i], e);
	nearest = chosen_nearest(p->tables.db, word, best);
	if (!nearest)
		return err_set(e, -ENOENT, "%s has no process or thread '%.80s'", p->tables.path,
			       word);
	str_make_plain(best, strlen(best), "");
	return err_set(e, -ENOENT, "%s has no process or thread '%.80s'; did you mean %s?",
		       p->tables.path, word, best);
}

/* Creates the tables that statements read in addition to those of the trace. Returns 0, or -errno
 * and sets e: -ENOENT if the trace lacks a thread, subject or machine that the options name. */
static int make_tables(struct output *p, struct err_text *e)
{
	const struct chosen_from from = {.words = p->o->words,
					 .n_words = p->o->n_words,
					 .subjects = p->o->subjects,
					 .n_subjects = p->o->n_subjects,
					 .store = &p->tables.store};
	char word[STR_WORD_SIZE];
	const char *missing;

	if (chosen_create(p->tables.db, &from, &missing) != SQLITE_OK)
		return err_set(e, -EIO, "%s", sqlite3_errmsg(p->tables.db));
	if (passes_register(p->tables.db, &p->tables.store, p->from, p->to, &p->scope) != SQLITE_OK)
		return err_set(e, -EIO, "%s", sqlite3_errmsg(p->tables.db));
	if (machines_list(p->tables.db, &p->machines) != SQLITE_OK)
		return err_set(e, -EIO, "%s", sqlite3_errmsg(p->tables.db));
	if (!has_machine(p))
		return err_set(e, -ENOENT,
			       "%s has no data from machine %" PRId64 "; see sonda sql %s "
			       "'select * from machine'",
			       p->tables.path, p->o->machine, str_word(p->tables.path, word));
	return missing ? refuse_unknown_thread(p, missing, e) : 0;
}

/* Logs which boot the trace is of, and when it ended. */
static void log_boot(const struct crash_boot *b, int64_t end)
{
	time_t t = (time_t)((b->date_ns + (uint64_t)end) / NS_PER_S);
	char when[64] = "at an unknown time";
	struct tm tm;

	if (b->date_ns && localtime_r(&t, &tm))
		strftime(when, sizeof(when), "at %Y-%m-%d %H:%M:%S", &tm);
	log_info("boot %s, Linux %s: the last event was %s", b->id, b->release, when);
}

/* Runs the report. boot: the boot that the trace was recorded in, or NULL. */
static int report_run(const struct report_options *o, const struct crash_boot *boot)
{
	struct output p = {
		.o = o, .style = report_style_of_stdout(o->color), .scope.machine = MACHINES_ALL};
	char newest[NAME_MAX + 1];
	struct err_text e;
	int r;

	if (!o->file && newest_trace_choose("report", newest) < 0)
		return EXIT_FAILED;
	if (o->out && trace_input_is_output(o->file ? o->file : newest, o->out)) {
		log_error("report: -o '%s' is the input file; choose another name", o->out);
		return EXIT_USAGE;
	}
	if (trace_tables_open(o->file ? o->file : newest, o->memory, &p.tables, &e) < 0) {
		log_error("report: %s", e.text);
		return EXIT_FAILED;
	}
	trace_tables_warn(&p.tables);
	report_losses_find(&p.tables, o->file, &p.losses);
	if (o->format == REPORT_CSV || o->format == REPORT_HTML)
		report_losses_warn(&p.losses);
	r = set_window(&p, &e);
	if (r == 0 && boot)
		log_boot(boot, p.tables.store.end_ts);
	if (r == 0 && o->format != REPORT_HTML)
		r = make_tables(&p, &e);
	if (r < 0) {
		log_error("report: %s", e.text);
		r = EXIT_FAILED;
	} else if (o->format == REPORT_HTML) {
		r = EXIT_FAILED;
		/* The last event is in the page, too. */
		if (print_limits(&p) == SQLITE_OK)
			r = report_page(&p.tables, p.from,
					o->to >= 0 ? p.to : p.to + (p.to < INT64_MAX), o->out);
	} else {
		r = print_to_user(&p);
	}
	report_losses_deinit(&p.losses);
	trace_tables_close(&p.tables);
	return r;
}

/* Reports on the trace of the boot that --boot names. Returns an exit code. */
static int report_run_boot(const struct report_options *o)
{
	struct report_options of_boot = *o;
	const char *dir = o->dir ? o->dir : RECORDER_DEFAULT_DIR;
	struct crash_boot boot;
	char path[PATH_MAX];
	struct err_text e;

	recorder_crash_save(dir);
	if (crash_boots_choose(dir, o->boot, &boot, &e) < 0 ||
	    crash_boot_path(dir, &boot, ".pftrace", path) < 0) {
		log_error("report: %s", e.text);
		return EXIT_FAILED;
	}
	of_boot.file = path;
	return report_run(&of_boot, &boot);
}

int cmd_report(int argc, char **argv)
{
	struct report_options o;
	struct err_text e;
	int r = report_options_parse(argc, argv, &o, &e);

	if (r > 0)
		return EXIT_GOOD;
	if (r == 0)
		return o.boot ? report_run_boot(&o) : report_run(&o, NULL);
	log_error("report: %s", e.text);
	log_error("see sonda help report");
	return EXIT_USAGE;
}

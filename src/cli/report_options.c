/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/number_read.h"
#include "base/text/str.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"
#include "cli/trace_tables.h"

static const char usage_head[] =
	"usage: sonda report [OPTION]... [NAME] [FILE]\n"
	"       sonda report [OPTION]... why PID|NAME [FILE]\n"
	"       sonda report [OPTION]... neighbours CONTAINER|UNIT|POD|PATH [FILE]\n"
	"       sonda report [OPTION]... --boot -1 [NAME]\n\n"
	"Answers common questions about a trace. Without NAME, prints a one-screen overview. "
	"Without\n"
	"FILE, reads the newest trace in the current directory; - is standard input. Names:\n\n";

static const char usage_tail[] =
	"\n"
	"  -p, --pid WHO      only processes or threads by id (12,34) or name (make, 'kworker*')\n"
	"      --container, --unit, --pod, --cgroup, --program NAME  only the threads in NAME\n"
	"      --from TIME    start at this offset into the trace, in seconds or with a unit: 1.5, "
	"200ms\n"
	"      --to TIME      end at this offset\n"
	"      --by KEY       only tables grouped by cpu, thread, process, program, container, "
	"unit ...\n"
	"      --slowest[=N]  syscalls: only the N slowest calls\n"
	"      --lines        syscalls: one line per call, as strace prints it\n"
	"      --tree[=up]    functions: a flame graph from callers to callees; up: from callees "
	"to callers\n"
	"      --callers F    functions: a flame graph of the callers of F (a pattern: 'read*')\n"
	"      --callees F    functions: a flame graph of the callees of F\n"
	"      --machine N    only machine N (an id from table 'machine')\n"
	"      --all          all reports for which the trace contains data, in one pass\n"
	"      --boot -N      trace of the previous boot (-1) or an earlier one (sonda "
	"recorder --crash);\n"
	"                     without NAME, prints the report 'end'\n"
	"      --dir DIR      --boot: recorder directory (default: "
	"/var/lib/sonda/recorder)\n"
	"      --file FILE    findings: also run this SQL file, or every SQL file in a directory\n"
	"      --top N        at most N rows per list; default: 20\n"
	"      --json[=keys]  one JSON object, with a list of rows for each table; keys: stable\n"
	"                     names, for scripts\n"
	"      --csv[=sheet]  CSV: each table follows a line with its title; sheet: put ' before "
	"text that\n"
	"                     a spreadsheet would run as a formula\n"
	"      --html         an HTML page with the tables and a timeline; requires -o FILE\n"
	"  -o, --out FILE     output file for --html; - is standard output\n"
	"      --no-cache     import the trace again; neither read nor write the cache\n"
	"      --no-pager     print to the terminal, not through $SONDA_PAGER, $PAGER or less\n"
	"      --color WHEN   always, never or auto (default)\n"
	"      --memory SIZE  memory limit for the trace, such as 2g (default: half of RAM)\n"
	"  -h, --help         print this help\n\n"
	"example: sonda report latency -p 4711 trace.pftrace\n";

static const char letters[] = ":p:o:h";

enum { OPT_CONTAINER = 256, OPT_UNIT, OPT_POD, OPT_CGROUP, OPT_PROGRAM };

static const struct option long_options[] = {
	{"pid", required_argument, NULL, 'p'},
	{"container", required_argument, NULL, OPT_CONTAINER},
	{"unit", required_argument, NULL, OPT_UNIT},
	{"pod", required_argument, NULL, OPT_POD},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"program", required_argument, NULL, OPT_PROGRAM},
	{"from", required_argument, NULL, 'F'},
	{"to", required_argument, NULL, 'T'},
	{"by", required_argument, NULL, 'b'},
	{"lines", no_argument, NULL, 'L'},
	{"slowest", optional_argument, NULL, 'S'},
	{"tree", optional_argument, NULL, 't'},
	{"callers", required_argument, NULL, 'r'},
	{"callees", required_argument, NULL, 'e'},
	{"top", required_argument, NULL, 'n'},
	{"json", optional_argument, NULL, 'j'},
	{"csv", optional_argument, NULL, 'c'},
	{"no-cache", no_argument, NULL, 'N'},
	{"no-pager", no_argument, NULL, 'P'},
	{"color", required_argument, NULL, 'C'},
	{"memory", required_argument, NULL, 'm'},
	{"boot", required_argument, NULL, 'B'},
	{"dir", required_argument, NULL, 'D'},
	{"html", no_argument, NULL, 'H'},
	{"out", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{"machine", required_argument, NULL, 'M'},
	{"file", required_argument, NULL, 'f'},
	{"all", no_argument, NULL, 'A'},
	{0},
};

static void print_usage(void)
{
	struct strbuf text = {0};
	const struct report *r;

	strbuf_puts(&text, usage_head);
	for (size_t i = 0; (r = report_at(i)); i++)
		strbuf_printf(&text, "  %-10s  %s\n", r->name, r->help);
	strbuf_puts(&text, usage_tail);
	help_print(text.s ? text.s : usage_head);
	strbuf_deinit(&text);
}

static int parse_machine(const char *text, int64_t *ret, struct err_text *e)
{
	const char *end = text;
	int64_t n;

	if (str_read_i64(&end, 10, &n) || *end || n < 0 || n > INT_MAX)
		return err_set(e, -EINVAL, "--machine '%.80s' is not a number; example: 1", text);
	*ret = n;
	return 0;
}

static int set_grouping_key(const char *key, struct report_options *o, struct err_text *e)
{
	if (o->by && strcmp(o->by, key) != 0)
		return err_set(e, -EINVAL,
			       "--by, --lines, --tree, --callers and --callees cannot be combined");
	o->by = key;
	return 0;
}

static int parse_tree_direction(const char *text, struct report_options *o, struct err_text *e)
{
	if (text && strcmp(text, "up") != 0)
		return err_set(e, -EINVAL, "--tree=%.80s: use --tree or --tree=up", text);
	return set_grouping_key(text ? "leaf" : "tree", o, e);
}

static int set_format(enum report_format format, struct report_options *o, struct err_text *e)
{
	if (o->format != REPORT_TEXT && o->format != format)
		return err_set(e, -EINVAL, "--json, --csv and --html cannot be combined");
	o->format = format;
	return 0;
}

static int parse_boot(const char *text, int *ret, struct err_text *e)
{
	uint32_t n;

	if (*text != '-' || str_to_u32(text + 1, &n) || n < 1 || n > 1000)
		return err_set(e, -EINVAL,
			       "--boot '%.80s' is not a boot; use -1 for the previous boot, -2 for "
			       "the one before it",
			       text);
	*ret = -(int)n;
	return 0;
}

static int add_subject(const char *kind, const char *name, struct report_options *o,
		       struct err_text *e)
{
	if (o->n_subjects == REPORT_SUBJECTS_MAX)
		return err_set(e, -E2BIG, "--%s '%.80s': at most %u groups can be given", kind,
			       name, REPORT_SUBJECTS_MAX);
	o->subjects[o->n_subjects++] = (struct chosen_subject){kind, name};
	return 0;
}

static int add_program(char *name, struct report_options *o, struct err_text *e)
{
	if (o->n_words == TRACE_INPUT_WHO_MAX)
		return err_set(e, -E2BIG, "--program '%.80s': at most %u programs can be given",
			       name, TRACE_INPUT_WHO_MAX);
	o->words[o->n_words++] = name;
	return 0;
}

static int report_options_handle_option(void *ctx, int option, struct err_text *e)
{
	struct report_options *o = ctx;

	switch (option) {
	case 'p':
		return trace_input_parse_processes(optarg, o->words, &o->n_words, e);
	case OPT_CONTAINER:
		return add_subject("container", optarg, o, e);
	case OPT_UNIT:
		return add_subject("unit", optarg, o, e);
	case OPT_POD:
		return add_subject("pod", optarg, o, e);
	case OPT_CGROUP:
		return add_subject("cgroup", optarg, o, e);
	case OPT_PROGRAM:
		return add_program(optarg, o, e);
	case 'F':
		return trace_input_parse_time("--from", optarg, 0, &o->from, e);
	case 'T':
		return trace_input_parse_time("--to", optarg, 0, &o->to, e);
	case 'b':
		return set_grouping_key(optarg, o, e);
	case 'L':
		o->lines = true;
		return set_grouping_key("line", o, e);
	case 'S':
		return set_grouping_key("slowest", o, e)
			       ?: optarg ? trace_input_parse_top(optarg, &o->top, e)
					 : 0;
	case 't':
		return parse_tree_direction(optarg, o, e);
	case 'r':
	case 'e':
		o->function = optarg;
		return set_grouping_key(option == 'r' ? "callers" : "callees", o, e);
	case 'n':
		return trace_input_parse_top(optarg, &o->top, e);
	case 'A':
		o->all = true;
		return 0;
	case 'B':
		return parse_boot(optarg, &o->boot, e);
	case 'D':
		o->dir = optarg;
		return 0;
	case 'f':
		o->findings = optarg;
		return 0;
	case 'M':
		return parse_machine(optarg, &o->machine, e);
	case 'j':
		if (optarg && strcmp(optarg, "keys") != 0)
			return err_set(e, -EINVAL, "--json=%.80s: use --json or --json=keys",
				       optarg);
		o->keys |= optarg != NULL;
		return set_format(REPORT_JSON, o, e);
	case 'c':
		return set_format(REPORT_CSV, o, e) ?: sql_parse_csv_format(optarg, &o->csv, e);
	case 'H':
		return set_format(REPORT_HTML, o, e);
	case 'o':
		o->out = optarg;
		return 0;
	case 'N':
		return trace_tables_disable_cache(e);
	case 'P':
		o->no_pager = true;
		return 0;
	case 'C':
		o->color = optarg;
		return option_check_color("--color", optarg, e);
	case 'm':
		return trace_tables_parse_memory(optarg, &o->memory, e);
	default:
		return -EINVAL;
	}
}

/* Returns the name of the report that is nearest, or NULL. */
static const char *find_nearest_report(const char *name)
{
	struct str_nearest nearest;
	const struct report *r;

	str_nearest_init(&nearest, name);
	for (size_t i = 0; (r = report_at(i)); i++)
		str_nearest_try(&nearest, r->name);
	return str_nearest_get(&nearest);
}

static int refuse_name(const char *name, struct err_text *e)
{
	const char *nearest = find_nearest_report(name);

	if (nearest)
		return err_set(e, -EINVAL, "no report is named '%.80s'; did you mean %s?", name,
			       nearest);
	if (access(name, F_OK) == 0)
		return err_set(e, -EINVAL, "only one report and one file can be given");
	return err_set(e, -EINVAL, "no report or file is named '%.80s'", name);
}

/* Parses [NAME] [PID|NAME] [FILE]. A single word that is not a report is a file, unless no such
 * file exists and the word resembles a report's name or has neither '.' nor '/'. */
static int parse_words(char **words, int n, struct report_options *o, struct err_text *e)
{
	const struct report *named = n ? report_find(words[0]) : NULL;
	int i = 0, r = 0;

	if (named) {
		o->report = named;
		i = 1;
	} else if (o->boot && n) {
		return err_set(e, -EINVAL,
			       "--boot selects the trace, so '%.80s' must be the name of a "
			       "report; sonda help report lists all reports",
			       words[0]);
	} else if (o->boot && !o->all && o->format != REPORT_HTML) {
		o->report = report_find("end");
	} else if (n == 1 && strcmp(words[0], "-") != 0 && access(words[0], F_OK) < 0 &&
		   (find_nearest_report(words[0]) || !strpbrk(words[0], "./"))) {
		return refuse_name(words[0], e);
	} else if (n > 1) {
		bool file_first = access(words[0], F_OK) == 0;

		return file_first && report_find(words[1])
			       ? err_set(e, -EINVAL,
					 "put the report before the file: sonda report %s %.80s",
					 words[1], words[0])
			       : refuse_name(words[file_first], e);
	}
	if (o->report->of_subject) {
		if (o->n_words)
			return err_set(e, -EINVAL, "report '%s' does not support -p and --program",
				       o->report->name);
		if (i == n && !o->n_subjects)
			return err_set(e, -EINVAL,
				       "no container, unit, pod or control group is given; "
				       "example: sonda report %s nginx.service",
				       o->report->name);
		if (!o->n_subjects)
			r = add_subject("", words[i++], o, e);
	}
	if (o->report->of_thread && !o->n_words && !o->n_subjects) {
		if (i == n)
			return err_set(
				e, -EINVAL,
				"no process or thread is given; example: sonda report %s 4711",
				o->report->name);
		if (i + 1 == n && strchr(words[i], '.') && access(words[i], F_OK) == 0)
			return err_set(e, -EINVAL,
				       "no process or thread is given; example: sonda report %s "
				       "4711 %.80s",
				       o->report->name, words[i]);
		r = trace_input_parse_processes(words[i++], o->words, &o->n_words, e);
	}
	if (i < n && o->boot)
		return err_set(e, -EINVAL, "--boot selects the trace; remove '%.80s'", words[i]);
	if (i < n)
		o->file = words[i++];
	if (i < n)
		return err_set(e, -EINVAL, "only one report and one file can be given");
	return r;
}

static bool has_grouping_key(const struct report *r, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (r->sections[i].by && !strcmp(r->sections[i].by, key))
			return true;
	return false;
}

/* Checks that a table of the report has the key of --by; else the error lists the keys. */
static int check_grouping_key(const struct report_options *o, struct err_text *e)
{
	const struct report *r = o->report;
	struct strbuf keys = {0};

	if (o->by && !o->function && (!strcmp(o->by, "callers") || !strcmp(o->by, "callees")))
		return err_set(e, -EINVAL, "--by %s needs a function: --%s 'read*'", o->by, o->by);
	if (!o->by || has_grouping_key(r, r->n_sections, o->by))
		return 0;
	for (size_t i = 0; i < r->n_sections; i++)
		if (r->sections[i].by && !has_grouping_key(r, i, r->sections[i].by))
			strbuf_printf(&keys, "%s%s", keys.len ? ", " : "; it supports ",
				      r->sections[i].by);
	err_set(e, -EINVAL, "report '%s' does not support --by '%.80s'%s", r->name, o->by,
		keys.s ? keys.s : "");
	strbuf_deinit(&keys);
	return -EINVAL;
}

static bool needs_single_calls(const struct report_options *o)
{
	return o->by && (!strcmp(o->by, "line") || !strcmp(o->by, "slowest"));
}

/* Checks the options of --html: only --from and --to limit what a page shows. */
static int check_page_options(const struct report_options *o, struct err_text *e)
{
	if (o->format != REPORT_HTML)
		return o->out ? err_set(e, -EINVAL,
					"-o requires --html; redirect the output instead: > %.80s",
					o->out)
			      : 0;
	if (!o->out)
		return err_set(e, -EINVAL, "--html needs an output file: -o page.html");
	if (o->report != report_at(0) || o->n_words || o->n_subjects || o->by || o->machine >= 0)
		return err_set(e, -EINVAL,
			       "--html shows all processes and reports, with a flame graph of "
			       "all call stacks; only --from and --to can limit the page");
	return 0;
}

int report_options_parse(int argc, char **argv, struct report_options *ret, struct err_text *e)
{
	int r;

	*ret = (struct report_options){
		.report = report_at(0), .from = -1, .to = -1, .machine = -1, .color = "auto"};
	r = options_parse(argc, argv, letters, long_options, report_options_handle_option, ret, e);
	if (r > 0)
		print_usage();
	if (r == 0)
		r = parse_words(argv + optind, argc - optind, ret, e);
	if (r == 0 && needs_single_calls(ret) && ret->report == report_at(0))
		ret->report = report_find("syscalls");
	if (r == 0 && ret->from >= 0 && ret->to >= 0 && ret->to <= ret->from)
		r = err_set(e, -EINVAL, "--to must be later than --from");
	if (r == 0 && ret->all &&
	    (ret->by || ret->format == REPORT_HTML || ret->report != report_at(0)))
		r = err_set(e, -EINVAL,
			    "--all cannot be combined with a report's name, --by or --html");
	if (r == 0 && ret->dir && !ret->boot)
		r = err_set(e, -EINVAL, "--dir requires --boot");
	if (r == 0)
		r = check_grouping_key(ret, e);
	if (r == 0 && ret->findings && !ret->all && !ret->report->of_findings)
		r = err_set(e, -EINVAL, "--file is an option of sonda report findings");
	return r == 0 ? check_page_options(ret, e) : r;
}

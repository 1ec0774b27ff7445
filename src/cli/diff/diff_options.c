/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diff/diff_options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"
#include "cli/trace_tables.h"

static const char usage_head[] =
	"usage: sonda diff [OPTION]... A B\n"
	"       sonda diff [OPTION]... A... -- B...\n\n"
	"Compares recordings: what became slower or faster from A to B, by how much, and with "
	"what\n"
	"confidence. With three or more recordings per side, the confidence interval comes "
	"from the\n"
	"variation between recordings; with fewer, from blocks of time within them. Metrics:\n\n";

static const char usage_tail[] =
	"\n"
	"      --per UNIT      compare the cost per run (default for recordings of a command), per "
	"second,\n"
	"                      or per slice or system call, by name: request, sys_recvfrom\n"
	"  -p, --pid WHO       only processes or threads by id (12,34) or name (make, 'kworker*')\n"
	"      --from TIME     start at this offset into each trace, in seconds or with a unit: "
	"1.5, 200ms\n"
	"      --to TIME       end at this offset\n"
	"      --min PERCENT   smallest change to report; default: 3, or 10 when comparing "
	"blocks of time\n"
	"      --fail-if COND  exit with status 4 if a finding meets COND: 'latency p99 > +10%',\n"
	"                      'cpu hash_block > 5%', 'syscalls count < -20%' (repeatable)\n"
	"      --lossy         include recordings that lost data\n"
	"      --top N         at most N rows; default: 20\n"
	"      --all           also list rows without a finding, and rows explained by a more "
	"specific row\n"
	"      --json          print one JSON object\n"
	"      --html FILE     write one HTML page: the rows, and differential flame graphs\n"
	"      --timelines     with --html: include a timeline of each side's first recording\n"
	"      --color WHEN    always, never or auto (default)\n"
	"      --memory SIZE   memory limit for a trace, such as 2g (default: half of RAM)\n"
	"  -h, --help          print this help\n\n"
	"example: sonda diff before*.pf -- after*.pf\n";

static const char letters[] = ":p:h";

static const struct option long_options[] = {
	{"per", required_argument, NULL, 'u'},	 {"pid", required_argument, NULL, 'p'},
	{"from", required_argument, NULL, 'F'},	 {"to", required_argument, NULL, 'T'},
	{"min", required_argument, NULL, 'M'},	 {"fail-if", required_argument, NULL, 'x'},
	{"lossy", no_argument, NULL, 'l'},	 {"top", required_argument, NULL, 'n'},
	{"all", no_argument, NULL, 'a'},	 {"json", no_argument, NULL, 'j'},
	{"html", required_argument, NULL, 'H'},	 {"timelines", no_argument, NULL, 't'},
	{"color", required_argument, NULL, 'C'}, {"memory", required_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},	 {0},
};

static void print_usage(void)
{
	struct strbuf text = {0};

	strbuf_puts(&text, usage_head);
	for (size_t i = 0; i < n_diff_metrics; i++)
		strbuf_printf(&text, "  %-10s  %s\n", diff_metrics[i].name, diff_metrics[i].help);
	strbuf_puts(&text, usage_tail);
	help_print(text.s ? text.s : usage_head);
	strbuf_deinit(&text);
}

/* ---- values ---- */

static int parse_per_option(const char *text, struct diff_options *o, struct err_text *e)
{
	if (!*text)
		return err_set(e, -EINVAL,
			       "--per: expected 'run', 'second' or the name of a slice");
	o->per = !strcmp(text, "run")	   ? DIFF_PER_RUN
		 : !strcmp(text, "second") ? DIFF_PER_SECOND
					   : DIFF_PER_SLICE;
	o->slice = text;
	return 0;
}

static int parse_min_change(const char *text, double *ret, struct err_text *e)
{
	const char *end = text;
	double v = 0;

	(void)str_read_double(&end, &v);
	end += *end == '%';
	if (end == text || *end || !isfinite(v) || v <= 0 || v > 1000)
		return err_set(e, -EINVAL, "--min '%.80s' is not a percentage above 0; example: 5",
			       text);
	*ret = v / 100;
	return 0;
}

static int add_condition(const char *text, struct diff_options *o, struct err_text *e)
{
	if (o->n_conditions == DIFF_MAX_CONDITIONS)
		return err_set(e, -EINVAL, "--fail-if: too many conditions; the limit is %d",
			       DIFF_MAX_CONDITIONS);
	return diff_condition_parse(text, &o->conditions[o->n_conditions++], e);
}

static int diff_options_handle_option(void *ctx, int option, struct err_text *e)
{
	struct diff_options *o = ctx;

	switch (option) {
	case 'u':
		return parse_per_option(optarg, o, e);
	case 'p':
		return trace_input_parse_processes(optarg, o->words, &o->n_words, e);
	case 'F':
		return trace_input_parse_time("--from", optarg, 0, &o->from, e);
	case 'T':
		return trace_input_parse_time("--to", optarg, 0, &o->to, e);
	case 'M':
		return parse_min_change(optarg, &o->least_change, e);
	case 'x':
		return add_condition(optarg, o, e);
	case 'l':
		o->lossy = true;
		return 0;
	case 'n':
		return trace_input_parse_top(optarg, &o->top, e);
	case 'a':
		o->all = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'H':
		o->html = optarg;
		return 0;
	case 't':
		o->timelines = true;
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

/* ---- files ---- */

/* Returns the index of the word "--" that separates the sides, or argc. */
static int find_separator(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return i;
	return argc;
}

/* Sets the recordings of both sides and checks the options that concern them. words: before "--";
 * more: after it; separated: there is a "--". Returns 0, or -EINVAL and sets e. */
static int set_files_of_sides(char **words, int n, char **more, int n_more, bool separated,
			      struct diff_options *o, struct err_text *e)
{
	if (!separated && n == 2) {
		n_more = n = 1;
		more = words + 1;
	} else if (!separated) {
		return err_set(
			e, -EINVAL,
			"%s; give two recordings, or two sets: sonda diff before*.pf -- after*.pf",
			n > 2 ? "'--' is missing between the sides" : "a recording is missing");
	}
	if (!n || !n_more)
		return err_set(e, -EINVAL, "no recording %s '--'", n ? "after" : "before");
	for (int i = 0; o->html && i < n + n_more; i++)
		if (trace_input_is_output(i < n ? words[i] : more[i - n], o->html))
			return err_set(
				e, -EINVAL,
				"--html '%.80s' is one of the recordings; choose another name",
				o->html);
	if (o->timelines && !o->html)
		return err_set(e, -EINVAL, "--timelines requires --html FILE");
	if (o->html && o->json)
		return err_set(e, -EINVAL, "--json and --html cannot be combined");
	o->files[0] = words;
	o->n_files[0] = (size_t)n;
	o->files[1] = more;
	o->n_files[1] = (size_t)n_more;
	return 0;
}

int diff_options_parse(int argc, char **argv, struct diff_options *ret, struct err_text *e)
{
	int separator = find_separator(argc, argv), n_first, r;
	char **first;

	*ret = (struct diff_options){.from = -1, .to = -1, .color = "auto"};
	r = options_parse(separator, argv, letters, long_options, diff_options_handle_option, ret,
			  e);
	first = argv + optind;
	n_first = separator - optind;
	optind = 1;
	if (r == 0 && separator < argc)
		r = options_parse(argc - separator, argv + separator, letters, long_options,
				  diff_options_handle_option, ret, e);
	if (r > 0)
		print_usage();
	if (r)
		return r;
	return set_files_of_sides(first, n_first, argv + separator + optind,
				  argc - separator - optind, separator < argc, ret, e);
}

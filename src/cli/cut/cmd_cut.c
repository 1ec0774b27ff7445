/* SPDX-License-Identifier: Apache-2.0 */
/* sonda cut and sonda split: write one part of the time of a trace, or several parts. */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cut/cut_parts.h"
#include "base/core/lower_bound.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_input.h"

static const char cut_usage[] =
	"usage: sonda cut [OPTION]... -o OUT FILE\n\n"
	"Writes the part of a trace between two times. The part is a complete trace: it includes "
	"the clocks,\n"
	"names and descriptions that earlier packets define.\n\n"
	"      --from TIME    start offset into the trace, in seconds or with a unit: 1.5, 200ms\n"
	"      --to TIME      end offset\n"
	"  -o, --out OUT      output file\n"
	"      --force        overwrite existing files\n"
	"  -h, --help         print this help\n\n"
	"example: sonda cut --from 1.5 --to 2s -o part.pftrace trace.pftrace\n";

static const char split_usage[] =
	"usage: sonda split --every TIME | --size SIZE [OPTION]... FILE\n\n"
	"Writes a trace as several files, PREFIX.000.pftrace and so on. Each file is a complete\n"
	"trace, and each event is in exactly one of them.\n\n"
	"      --every TIME   start a new file every TIME: 10s, 500ms\n"
	"      --size SIZE    files of about this size: 100mb\n"
	"  -o, --out PREFIX   prefix of the file names; default: the trace's name\n"
	"      --force        overwrite existing files\n"
	"  -h, --help         print this help\n\n"
	"example: sonda split --every 10s trace.pftrace\n";

static const char letters[] = ":o:h";

static const struct option cut_options[] = {
	{"from", required_argument, NULL, 'F'}, {"to", required_argument, NULL, 'T'},
	{"out", required_argument, NULL, 'o'},	{"force", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},	{0},
};

static const struct option split_options[] = {
	{"every", required_argument, NULL, 'e'}, {"size", required_argument, NULL, 's'},
	{"out", required_argument, NULL, 'o'},	 {"force", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},	 {0},
};

#define PARTS_MAX 4096

struct cut_options {
	const struct option *long_options;
	const char *usage;
	const char *file, *out;
	bool is_split, force;
	int64_t from, to; /* ns since the trace's start; -1: not given */
	int64_t every; /* ns; 0: not given */
	uint64_t size; /* bytes; 0: not given */
};

/* ---- the command line ---- */

static int cut_handle_option(void *ctx, int option, struct err_text *e)
{
	struct cut_options *o = ctx;
	uint32_t kb;

	switch (option) {
	case 'F':
		return trace_input_parse_time("--from", optarg, 0, &o->from, e);
	case 'T':
		return trace_input_parse_time("--to", optarg, 0, &o->to, e);
	case 'e':
		return trace_input_parse_time("--every", optarg, 1, &o->every, e);
	case 's':
		if (str_to_size_kb(optarg, &kb) < 0 || !kb)
			return err_set(e, -EINVAL,
				       "--size %.80s is not a size; examples: 100mb, 2gb", optarg);
		o->size = (uint64_t)kb << 10;
		return 0;
	case 'o':
		o->out = optarg;
		return *optarg ? 0 : err_set(e, -EINVAL, "-o needs a file name");
	case 'f':
		o->force = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Takes FILE from the words and checks the options. Returns 0, or -EINVAL and sets e. */
static int cut_complete_options(struct cut_options *o, char **words, int n, struct err_text *e)
{
	if (n == 0)
		return err_set(e, -EINVAL, "FILE is missing");
	if (n > 1)
		return err_set(e, -EINVAL, "only one FILE can be given");
	o->file = words[0];
	if (o->is_split && !o->every == !o->size)
		return err_set(
			e, -EINVAL,
			"choose either --every or --size; examples: --every 10s, --size 100mb");
	if (!o->is_split && !o->out)
		return err_set(e, -EINVAL, "no output file; name one with -o");
	if (!o->is_split && o->from < 0 && o->to < 0)
		return err_set(e, -EINVAL, "nothing is selected; use --from 1.5, --to 2s, or both");
	if (o->to >= 0 && o->to <= o->from)
		return err_set(e, -EINVAL, "--to must be later than --from");
	return 0;
}

/* Returns 0, 1 after the help, or -EINVAL and sets e. */
static int cut_parse_arguments(int argc, char **argv, struct cut_options *o, struct err_text *e)
{
	int r = options_parse(argc, argv, letters, o->long_options, cut_handle_option, o, e);

	if (r > 0)
		fputs(o->usage, stdout);
	return r ? r : cut_complete_options(o, argv + optind, argc - optind, e);
}

/* ---- the parts' times ---- */

/* Parts of the same length (every), or parts that begin at given times. The first begins with the
 * trace. */
struct plan {
	const struct cut_options *o; /* borrowed */
	int64_t start, end; /* of the events */
	int64_t first, last; /* of the only part, for cut */
	int64_t *begins; /* owned; of all parts but the first, for a size */
	size_t n, cap;
};

static bool find_range_by_period(const struct plan *p, int64_t ts, struct cut_range *ret,
				 uint64_t *ret_number)
{
	int64_t every = p->o->every, most = (p->end - p->start) / every;
	int64_t number = ts <= p->start ? 0 : MIN((ts - p->start) / every, most);

	*ret_number = (uint64_t)number;
	ret->first = number ? p->start + number * every : INT64_MIN;
	ret->last = number < most ? p->start + (number + 1) * every - 1 : INT64_MAX;
	return true;
}

static bool find_range_by_start_times(const struct plan *p, int64_t ts, struct cut_range *ret,
				      uint64_t *ret_number)
{
	size_t n = LOWER_BOUND(i, 0, p->n, p->begins[i] <= ts);

	*ret_number = n;
	ret->first = n ? p->begins[n - 1] : INT64_MIN;
	ret->last = n < p->n ? p->begins[n] - 1 : INT64_MAX;
	return true;
}

static bool plan_find_range(const struct plan *p, int64_t ts, struct cut_range *ret,
			    uint64_t *ret_number)
{
	if (p->o->every)
		return find_range_by_period(p, ts, ret, ret_number);
	if (p->o->size)
		return find_range_by_start_times(p, ts, ret, ret_number);
	*ret = (struct cut_range){.first = p->first, .last = p->last};
	*ret_number = 0;
	return ts >= p->first && ts <= p->last;
}

/* Plans where parts begin, so that each has at most about the requested size. This includes the
 * state of the whole trace, which each part also has. */
static int plan_parts_by_size(struct plan *p, const struct cut_overview *v, struct err_text *e)
{
	uint64_t size = p->o->size, sum = 0;
	uint64_t room = size > 2 * v->state_bytes ? size - v->state_bytes : size / 2;
	int64_t from = v->start;

	for (size_t i = 0; i < CUT_BUCKETS; i++) {
		int64_t at;

		if (__builtin_mul_overflow(v->base + (int64_t)i, v->width, &at))
			break;
		if (sum && sum + v->bytes[i] > room && at > from && at <= v->end) {
			if (array_reserve(&p->begins, &p->cap, p->n + 1, sizeof(*p->begins)))
				return err_set(e, -ENOMEM, "out of memory");
			p->begins[p->n++] = from = at;
			sum = 0;
		}
		sum += v->bytes[i];
	}
	return 0;
}

/* Returns the time `ns` after the trace's start, but at most INT64_MAX. */
static int64_t time_after_start(const struct cut_overview *v, int64_t ns)
{
	int64_t ts;

	return __builtin_add_overflow(v->start, ns, &ts) ? INT64_MAX : ts;
}

static int plan_parts(const struct cut_options *o, const struct cut_overview *v, struct plan *ret,
		      struct err_text *e)
{
	*ret = (struct plan){.o = o, .start = v->start, .end = v->end};
	if (o->is_split)
		return o->size ? plan_parts_by_size(ret, v, e) : 0;
	if (o->from > v->end - v->start)
		return err_set(e, -EINVAL,
			       "--from is after the end of the trace, which is %.3f s long",
			       (double)(v->end - v->start) / 1e9);
	ret->first = o->from > 0 ? time_after_start(v, o->from) : INT64_MIN;
	ret->last = o->to >= 0 && o->to <= v->end - v->start ? v->start + o->to - 1 : INT64_MAX;
	return 0;
}

/* ---- the files ---- */

struct out_file {
	char *path; /* owned */
	struct trace_file *file; /* owned */
	uint64_t number;
};

/* The parts that have packets, in the order of their first packets until they are saved. */
struct outputs {
	const struct cut_options *o; /* borrowed */
	struct plan plan; /* owned */
	struct out_file *of; /* owned */
	size_t n, cap;
	struct err_text *e;
};

/* Returns the path of a part, which the caller frees, or NULL: "trace.pftrace" splits into
 * "trace.000.pftrace". */
static char *part_path(const struct cut_options *o, uint64_t number)
{
	const char *name = o->out ? o->out : o->file;
	const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
	size_t len = !o->out && dot && dot > (slash ? slash + 1 : name) ? (size_t)(dot - name)
									: strlen(name);
	char *path;

	if (!o->is_split)
		return strdup(o->out);
	return asprintf(&path, "%.*s.%03" PRIu64 ".pftrace", (int)len, name, number) < 0 ? NULL
											 : path;
}

static bool find_part_range(void *ctx, int64_t ts, struct cut_range *ret, uint64_t *ret_number)
{
	const struct outputs *out = ctx;

	return plan_find_range(&out->plan, ts, ret, ret_number);
}

static int open_file_of_part(void *ctx, uint64_t number)
{
	struct outputs *out = ctx;
	struct out_file *f;

	if (out->n == PARTS_MAX)
		return err_set(
			out->e, -EINVAL,
			"this would create more than %d files; choose a larger --every or --size",
			PARTS_MAX);
	if (array_reserve(&out->of, &out->cap, out->n + 1, sizeof(*out->of)))
		return err_set(out->e, -ENOMEM, "out of memory");
	f = &out->of[out->n++];
	*f = (struct out_file){.number = number, .path = part_path(out->o, number)};
	if (!f->path)
		return err_set(out->e, -ENOMEM, "out of memory");
	if (!out->o->force && trace_file_check_new(f->path, out->e) < 0)
		return -EEXIST;
	return trace_file_open(f->path, out->e, &f->file);
}

static int explain_write_error(const char *path, int r, struct err_text *e)
{
	return err_set(e, r, "cannot write %s: %s",
		       strcmp(path, "-") != 0 ? path : "to standard output", strerror(-r));
}

static int cut_write_packet(void *ctx, size_t part, const uint8_t *packet, size_t len)
{
	struct outputs *out = ctx;
	struct out_file *f = &out->of[part];
	int r = trace_file_add_packet(f->file, packet, len);

	return r < 0 ? explain_write_error(f->path, r, out->e) : 0;
}

static int compare_part_numbers(const void *a, const void *b)
{
	const struct out_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int save_parts(struct outputs *out)
{
	char size[32];
	int r = 0;

	qsort(out->of, out->n, sizeof(*out->of), compare_part_numbers);
	/* No part gets its name if one cannot be written. */
	for (size_t i = 0; r == 0 && i < out->n; i++) {
		r = trace_file_flush(out->of[i].file);
		if (r < 0)
			return explain_write_error(out->of[i].path, r, out->e);
	}
	for (size_t i = 0; r == 0 && i < out->n; i++) {
		r = trace_file_save(out->of[i].file, out->e);
		if (r == 0 && strcmp(out->of[i].path, "-") != 0)
			verb_print_file_name(out->of[i].path,
					     str_bytes(trace_file_bytes(out->of[i].file), size));
	}
	return r;
}

static void outputs_deinit(struct outputs *out)
{
	for (size_t i = 0; i < out->n; i++) {
		trace_file_free(out->of[i].file);
		free(out->of[i].path);
	}
	free(out->of);
	free(out->plan.begins);
}

/* ---- the trace ---- */

static void warn_of_unused_packets(const char *path, const struct cut_result *r)
{
	char count[STR_COUNT_SIZE];

	if (r->cut_off)
		log_warn("%s is truncated: the last packet is incomplete and was skipped", path);
	if (r->undecodable)
		log_warn("%s: skipped %s: not valid protobuf", path,
			 str_count(r->undecodable, "packet", count));
	if (r->not_unpacked)
		log_warn("%s: cannot decompress all of %s", path,
			 str_count(r->not_unpacked, "compressed packet", count));
}

/* Writes the parts of out->plan. */
static int write_parts(const struct trace_bytes_map *in, struct cut_overview *v,
		       struct outputs *out)
{
	const struct cut_parts_config config = {
		.range_of = find_part_range,
		.open = open_file_of_part,
		.write = cut_write_packet,
		.ctx = out,
	};
	struct cut_result result;
	int r;

	fs_raise_file_limit(PARTS_MAX + 64);
	out->e->text[0] = '\0';
	r = cut_parts_write(v, in->data, in->len, true, &config, &result);
	if (r < 0)
		return out->e->text[0] ? r : trace_input_explain_error(out->o->file, r, out->e);
	warn_of_unused_packets(out->o->file, &result);
	if (!out->n && !out->o->is_split)
		return err_set(out->e, -ENODATA, "%s contains no events between --from and --to",
			       out->o->file);
	return save_parts(out);
}

static int cut_run(const struct cut_options *o, struct err_text *e)
{
	struct cut_overview *v = calloc(1, sizeof(*v));
	struct outputs out = {.o = o, .e = e};
	struct trace_bytes_map in = {0};
	int r = v ? trace_input_map(o->file, &in, e) : err_set(e, -ENOMEM, "out of memory");

	if (r < 0) {
		free(v);
		return r;
	}
	mapped_trace_handle_sigbus();
	signal(SIGXFSZ, SIG_IGN);
	r = cut_overview_read(v, in.data, in.len, true);
	if (r < 0)
		trace_input_explain_error(o->file, r, e);
	else if (cut_overview_refusal(v))
		r = err_set(e, -EINVAL, "cannot cut %s: %s", o->file, cut_overview_refusal(v));
	if (r == 0)
		r = plan_parts(o, v, &out.plan, e);
	if (r == 0)
		r = write_parts(&in, v, &out);
	cut_overview_deinit(v);
	free(v);
	outputs_deinit(&out);
	trace_input_unmap(&in);
	return r;
}

static int run_cut_verb(int argc, char **argv, struct cut_options *o)
{
	struct err_text e;
	int r = cut_parse_arguments(argc, argv, o, &e);

	if (r > 0)
		return EXIT_GOOD;
	if (r < 0) {
		log_error("%s: %s", argv[0], e.text);
		log_error("see sonda help %s", argv[0]);
		return EXIT_USAGE;
	}
	if (cut_run(o, &e) == 0)
		return EXIT_GOOD;
	log_error("%s: %s", argv[0], e.text);
	return EXIT_FAILED;
}

int cmd_cut(int argc, char **argv)
{
	struct cut_options o = {
		.long_options = cut_options,
		.usage = cut_usage,
		.from = -1,
		.to = -1,
	};

	return run_cut_verb(argc, argv, &o);
}

int cmd_split(int argc, char **argv)
{
	struct cut_options o = {
		.long_options = split_options,
		.usage = split_usage,
		.is_split = true,
		.from = -1,
		.to = -1,
	};

	return run_cut_verb(argc, argv, &o);
}

// SPDX-License-Identifier: Apache-2.0

#include "cli/record_options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/str.h"
#include "config/limits.h"

const char record_usage[] =
	"usage: sonda record [OPTION]... EVENT...      what to record in words\n"
	"       sonda record [OPTION]... -c FILE       what to record as a trace config\n"
	"\n"
	"Records until the time is over or Ctrl-C; a second Ctrl-C throws the recording away.\n"
	"Talks to the tracing service of this machine, or starts one for itself.\n"
	"\n"
	"EVENT is one of\n"
	"  sched                  who ran when, who woke whom, and how processes came and went\n"
	"  GROUP/NAME, NAME       an event of the kernel: sched/sched_switch, softirq_entry\n"
	"  GROUP/*                all events of a group; other patterns too: 'block/*_rq_*'\n"
	"  GROUP:NAME             the same as GROUP/NAME\n"
	"Names of processes and threads are recorded with them.\n"
	"\n"
	"  -t, --time T           stop after T: 10, 10s, 500ms, 2m, 1h\n"
	"  -b, --buffer SIZE      buffer of the service, a ring: 64mb (default 32mb)\n"
	"  -B, --ring SIZE        buffer of the kernel for each CPU (default: up to the producer)\n"
	"  -c, --config FILE      trace config, text or binary; - is standard input\n"
	"      --txt              the config is text, whatever it looks like\n"
	"  -o, --out FILE         - is standard output (default trace-HOST-TIME.pftrace)\n"
	"      --socket ADDRESS   the service's consumer socket\n"
	"      --strict           exit with 3 when data was lost or something asked for is "
	"missing\n"
	"  -q, --quiet            only errors\n"
	"  -h, --help\n"
	"\n"
	"Exit codes: 0 good, 1 failed (no output file is left), 2 usage, 3 see --strict.\n";

enum { OPT_TXT = 256, OPT_SOCKET, OPT_STRICT };

static const struct option long_options[] = {
	{"time", required_argument, NULL, 't'},
	{"buffer", required_argument, NULL, 'b'},
	{"ring", required_argument, NULL, 'B'},
	{"config", required_argument, NULL, 'c'},
	{"out", required_argument, NULL, 'o'},
	{"txt", no_argument, NULL, OPT_TXT},
	{"strict", no_argument, NULL, OPT_STRICT},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_time(const char *text, struct record_options *o, struct err_text *e)
{
	int r = str_to_duration_ms(text, &o->duration_ms);

	if (r == -ERANGE || (!r && o->duration_ms > LIMIT_DURATION_MS))
		return err_set(e, -EINVAL, "-t %s: a recording may last 7 days at most", text);
	if (r)
		return err_set(e, -EINVAL, "-t %s is no time; examples: 10, 10s, 500ms, 2m", text);
	return 0;
}

static int parse_size(char option, const char *text, uint32_t *ret_kb, struct err_text *e)
{
	uint32_t kb = 0;
	int r = str_to_size_kb(text, &kb);

	if (r == -ERANGE || (!r && kb > LIMIT_BUFFER_SIZE_KB))
		return err_set(e, -EINVAL, "-%c %s: a buffer must stay below 4 GiB", option, text);
	if (r)
		return err_set(e, -EINVAL, "-%c %s is no size; examples: 64mb, 512k", option, text);
	if (!kb)
		return err_set(e, -EINVAL, "-%c %s: a buffer needs a size", option, text);
	*ret_kb = kb;
	return 0;
}

/* Which options were given, for those that exclude each other. */
struct given {
	bool time;
	bool buffer;
	bool ring;
};

static int take_option(int option, struct record_options *o, struct given *given,
		       struct err_text *e)
{
	switch (option) {
	case 't':
		given->time = true;
		return parse_time(optarg, o, e);
	case 'b':
		given->buffer = true;
		return parse_size('b', optarg, &o->buffer_kb, e);
	case 'B':
		given->ring = true;
		return parse_size('B', optarg, &o->ring_kb, e);
	case 'c':
		o->config = optarg;
		return 0;
	case 'o':
		o->output = optarg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_TXT:
		o->config_is_text = true;
		return 0;
	case OPT_SOCKET:
		o->socket = optarg;
		return 0;
	case OPT_STRICT:
		o->strict = true;
		return 0;
	}
	return -EINVAL;
}

static int check_config(const struct record_options *o, const struct given *given,
			struct err_text *e)
{
	const char *too_much = o->n_events     ? o->events[0]
			       : given->time   ? "-t"
			       : given->buffer ? "-b"
			       : given->ring   ? "-B"
					       : NULL;

	if (too_much)
		return err_set(e, -EINVAL, "-c and '%s' exclude each other: the config says it all",
			       too_much);
	return 0;
}

static int check(const struct record_options *o, const struct given *given, struct err_text *e)
{
	if (o->output && !*o->output)
		return err_set(e, -EINVAL, "-o needs the name of a file");
	if (o->config)
		return check_config(o, given, e);
	if (o->config_is_text)
		return err_set(e, -EINVAL, "--txt is about the file of -c, which is missing");
	if (!o->n_events)
		return err_set(
			e, -EINVAL,
			"nothing to record: name events ('sched', 'irq/*') or a config (-c)");
	return 0;
}

int record_options_parse(int argc, char **argv, struct record_options *ret, struct err_text *e)
{
	struct record_options o = {.buffer_kb = DEFAULT_RECORD_BUFFER_KB};
	struct given given = {0};
	int option, r;

	opterr = 0;
	optind = 0; /* begin anew, also when it ran before */
	while ((option = getopt_long(argc, argv, ":t:b:B:c:o:qh", long_options, NULL)) != -1) {
		if (option == 'h') {
			*ret = (struct record_options){.help = true};
			return 0;
		}
		if (option == ':')
			return err_set(e, -EINVAL, "%s needs a value", argv[optind - 1]);
		if (option == '?' && optopt > 0 && optopt < 256)
			return err_set(e, -EINVAL, "there is no option -%c", optopt);
		if (option == '?')
			return err_set(e, -EINVAL, "there is no option %s", argv[optind - 1]);
		r = take_option(option, &o, &given, e);
		if (r)
			return r;
	}
	o.events = argv + optind;
	o.n_events = (size_t)(argc - optind);
	r = check(&o, &given, e);
	if (!r)
		*ret = o;
	return r;
}

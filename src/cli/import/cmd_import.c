/* SPDX-License-Identifier: Apache-2.0 */
/* sonda import: a recording of trace-cmd or perf as a trace. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_file.h"
#include "import/import.h"

static const char usage[] =
	"usage: sonda import [OPTION]... -o OUT FILE\n\n"
	"Converts a trace-cmd (trace.dat) or perf (perf.data) recording into a trace. The format\n"
	"is detected from the first bytes. FILE \"-\" is standard input.\n\n"
	"  -o, --out OUT          output file; \"-\" is standard output\n"
	"      --force            overwrite OUT if it exists\n"
	"      --buffer NAME      trace.dat: only events from this tracefs instance; \"top\" is "
	"the top level\n"
	"      --kallsyms FILE    perf.data: copy of the recorded machine's /proc/kallsyms, for "
	"kernel\n"
	"                         function names; default: this machine's, if it runs the same "
	"kernel\n"
	"  -h, --help             print this help\n\n"
	"example: sonda import -o trace.pftrace trace.dat\n";

static const char letters[] = ":o:h";

static const struct option long_options[] = {
	{"out", required_argument, NULL, 'o'},	    {"buffer", required_argument, NULL, 'b'},
	{"kallsyms", required_argument, NULL, 'k'}, {"force", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},	    {0},
};

struct import_command {
	const char *file, *out;
	bool force;
	struct import_options how;
};

static int import_handle_option(void *ctx, int option, struct err_text *e)
{
	struct import_command *o = ctx;

	switch (option) {
	case 'o':
		o->out = optarg;
		return *optarg ? 0 : err_set(e, -EINVAL, "-o needs a file name");
	case 'b':
		o->how.buffer = optarg;
		return 0;
	case 'k':
		o->how.kallsyms = optarg;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Takes FILE from the words and checks the options. Returns 0, or -errno and sets e. */
static int import_complete_options(struct import_command *o, char **words, int n,
				   struct err_text *e)
{
	if (n == 0)
		return err_set(e, -EINVAL, "FILE is missing");
	if (n > 1)
		return err_set(e, -EINVAL, "only one FILE can be given");
	o->file = words[0];
	if (!o->out)
		return err_set(e, -EINVAL, "no output file; name one with -o");
	return o->force ? 0 : trace_file_check_new(o->out, e);
}

static void import_print_result(const struct import_command *o, const struct import_result *r)
{
	char count[STR_COUNT_SIZE];
	char events[32], samples[32], lost[32], unread[32];

	for (uint32_t i = 0; i < MIN(r->n_notes, (uint32_t)IMPORT_NOTES); i++)
		log_warn("%s: %s", o->file, r->notes[i]);
	if (r->n_notes > IMPORT_NOTES)
		log_warn("%s: and %s", o->file,
			 str_count(r->n_notes - IMPORT_NOTES, "more note", count));
	log_info("%s%s%s%s%s: %s events and %s samples from %u CPUs; %s lost, %s not imported",
		 r->format, *r->recorder ? " by " : "", r->recorder, *r->clock ? ", clock " : "",
		 r->clock, str_thousands(r->n_events, events), str_thousands(r->n_samples, samples),
		 r->n_cpus, str_thousands(r->n_lost, lost), str_thousands(r->n_unread, unread));
}

static int import_save_trace(const struct import_command *o, struct trace_file *f,
			     const struct import_result *result, struct err_text *e)
{
	char size[32];
	int r = trace_file_update_size(f);

	if (r < 0)
		return err_set(e, r, "cannot write %s: %s", o->out, strerror(-r));
	r = trace_file_save(f, e);
	if (r < 0)
		return r;
	import_print_result(o, result);
	if (strcmp(o->out, "-") != 0)
		verb_print_file_name(o->out, str_bytes(trace_file_bytes(f), size));
	return 0;
}

static int import_file(const struct import_command *o, struct err_text *e)
{
	_cleanup_(closep) int fd =
		strcmp(o->file, "-") ? open(o->file, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	static struct import_result result;
	struct trace_file *f = NULL;
	int r;

	if (fd < 0)
		return err_set(e, -errno, "cannot open %s: %s", o->file, strerror(errno));
	signal(SIGXFSZ, SIG_IGN);
	r = trace_file_open(o->out, e, &f);
	if (r < 0)
		return r;
	r = import_run(fd, trace_file_fd(f), &o->how, &result);
	if (r < 0)
		err_set(e, r, "cannot import %s: %s", o->file, result.problem);
	else
		r = import_save_trace(o, f, &result, e);
	trace_file_free(f);
	return r;
}

int cmd_import(int argc, char **argv)
{
	struct import_command o = {0};
	struct err_text e;
	int r;

	r = options_parse(argc, argv, letters, long_options, import_handle_option, &o, &e);
	if (r > 0) {
		help_print(usage);
		return EXIT_GOOD;
	}
	if (r == 0)
		r = import_complete_options(&o, argv + optind, argc - optind, &e);
	if (r < 0) {
		log_error("import: %s", e.text);
		log_error("see sonda help import");
		return EXIT_USAGE;
	}
	if (import_file(&o, &e) < 0) {
		log_error("import: %s", e.text);
		return EXIT_FAILED;
	}
	return EXIT_GOOD;
}

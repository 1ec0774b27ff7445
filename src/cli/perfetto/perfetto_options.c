/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options, their conflicts in the order in which Perfetto checks them, and its messages: scripts
 * search for these.
 */
#include "cli/perfetto/perfetto_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "config/text.h"
#include "config/trace_config.h"

#define CONFIG_MAX (16u << 20)

static const char usage[] =
	"  --background     -d      : continue in the background and print the process id;\n"
	"                             SIGTERM stops the recording\n"
	"  --background-wait -D     : the same, after all data sources have started (30 s at "
	"most)\n"
	"  --notify-fd FD           : write a byte to FD at the start: 0 started, 1 error, 2 "
	"timeout\n"
	"  --clone TSID             : write a copy of the session with this number\n"
	"  --clone-by-name NAME     : the same, for the session with this name\n"
	"  --clone-for-bugreport    : with --clone or --clone-by-name: skip the trace_filter\n"
	"  --config         -c      : a trace config, - for standard input\n"
	"  --out            -o      : the trace, - for standard output\n"
	"  --no-clobber             : do not replace an existing file\n"
	"  --txt                    : the config is text\n"
	"  --txt-lossy              : the same, skipping unknown fields and enum values\n"
	"  --query [--long]         : print the state of the service\n"
	"  --query-raw              : the same, as a serialized TracingServiceState\n"
	"  --add-attribute key[=value]: attribute of the trace (also --add-note)\n"
	"  --version, --help -h\n\n"
	"Without a config:\n"
	"  --time           -t      : N{ms,s,m,h} (default: 10s)\n"
	"  --buffer         -b      : ring buffer, N{k,m,g}[b] (default: 32mb)\n"
	"  --size           -s      : file size limit; the service writes while it records\n"
	"  --app            -a      : application\n"
	"  FTRACE_GROUP/FTRACE_NAME : kernel event\n"
	"  ATRACE_CAT               : category: sched, irq, disk, ...\n\n"
	"  --alert-id, --config-id, --config-uid, --subscription-id N: recorded in the trace\n"
	"  --save-for-bugreport     : write the session with the highest bugreport_score to\n"
	"                             TMPDIR/systrace.pftrace\n"
	"  --save-all-for-bugreport : write each session to its bugreport_filename in TMPDIR\n"
	"  --no-guardrails, --reset-guardrails: no effect\n"
	"  --upload, --dropbox TAG  : Android only\n\n"
	"  --detach=key             : the session keeps running in the service\n"
	"  --attach=key [--stop]    : attach to this session (and stop it)\n"
	"  --is_detached=key        : exit with 0 if it is detached, 2 if not, 1 on errors\n\n"
	"See docs/reference/perfetto-cli.md for what differs, and sonda help for more.\n";

void perfetto_log(const char *fmt, ...)
{
	uint64_t ms = clock_mono_ns() / NS_PER_MS;
	char line[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	str_make_plain(line, strlen(line), "");
	fprintf(stderr, "[%03u.%03u] %22s %s\n", (unsigned)(ms / 1000 % 1000),
		(unsigned)(ms % 1000), "perfetto:", line);
}

enum {
	OPT_TXT = 256,
	OPT_TXT_LOSSY,
	OPT_NO_CLOBBER,
	OPT_NOTIFY_FD,
	OPT_CLONE,
	OPT_CLONE_NAME,
	OPT_CLONE_BUGREPORT,
	OPT_QUERY,
	OPT_QUERY_RAW,
	OPT_LONG,
	OPT_DETACH,
	OPT_ATTACH,
	OPT_STOP,
	OPT_IS_DETACHED,
	OPT_NOTE,
	OPT_VERSION,
	OPT_SAVE,
	OPT_SAVE_ALL,
	OPT_UPLOAD,
	OPT_DROPBOX,
	OPT_NO_GUARDRAILS,
	OPT_RESET_GUARDRAILS,
	OPT_ALERT_ID,
	OPT_CONFIG_ID,
	OPT_CONFIG_UID,
	OPT_SUBSCRIPTION_ID,
};

static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"config", required_argument, NULL, 'c'},
	{"out", required_argument, NULL, 'o'},
	{"background", no_argument, NULL, 'd'},
	{"background-wait", no_argument, NULL, 'D'},
	{"time", required_argument, NULL, 't'},
	{"buffer", required_argument, NULL, 'b'},
	{"size", required_argument, NULL, 's'},
	{"app", required_argument, NULL, 'a'},
	{"txt", no_argument, NULL, OPT_TXT},
	{"txt-lossy", no_argument, NULL, OPT_TXT_LOSSY},
	{"no-clobber", no_argument, NULL, OPT_NO_CLOBBER},
	{"notify-fd", required_argument, NULL, OPT_NOTIFY_FD},
	{"clone", required_argument, NULL, OPT_CLONE},
	{"clone-by-name", required_argument, NULL, OPT_CLONE_NAME},
	{"clone-for-bugreport", no_argument, NULL, OPT_CLONE_BUGREPORT},
	{"query", no_argument, NULL, OPT_QUERY},
	{"query-raw", no_argument, NULL, OPT_QUERY_RAW},
	{"long", no_argument, NULL, OPT_LONG},
	{"detach", required_argument, NULL, OPT_DETACH},
	{"attach", required_argument, NULL, OPT_ATTACH},
	{"stop", no_argument, NULL, OPT_STOP},
	{"is_detached", required_argument, NULL, OPT_IS_DETACHED},
	{"add-note", required_argument, NULL, OPT_NOTE},
	{"add-attribute", required_argument, NULL, OPT_NOTE},
	{"version", no_argument, NULL, OPT_VERSION},
	{"save-for-bugreport", no_argument, NULL, OPT_SAVE},
	{"save-all-for-bugreport", no_argument, NULL, OPT_SAVE_ALL},
	{"upload", no_argument, NULL, OPT_UPLOAD},
	{"dropbox", required_argument, NULL, OPT_DROPBOX},
	{"no-guardrails", no_argument, NULL, OPT_NO_GUARDRAILS},
	{"reset-guardrails", no_argument, NULL, OPT_RESET_GUARDRAILS},
	{"alert-id", required_argument, NULL, OPT_ALERT_ID},
	{"config-id", required_argument, NULL, OPT_CONFIG_ID},
	{"config-uid", required_argument, NULL, OPT_CONFIG_UID},
	{"subscription-id", required_argument, NULL, OPT_SUBSCRIPTION_ID},
	{NULL, 0, NULL, 0},
};

static int print_usage(const struct perfetto_options *o)
{
	fprintf(stderr, "\nUsage: %s\n%s", o->program, usage);
	return 1;
}

static int perfetto_options_add(struct perfetto_list *l, const char *name)
{
	if (array_reserve(&l->names, &l->cap, l->n + 1, sizeof(*l->names)))
		return 1;
	l->names[l->n++] = name;
	return -1;
}

static int perfetto_options_fail(const char *why)
{
	perfetto_log("%s", why);
	return 1;
}

static int add_note_option(struct perfetto_options *o)
{
	if (!*optarg || *optarg == '=')
		return perfetto_options_fail("add-note: key must be non-empty");
	return perfetto_options_add(&o->notes, optarg);
}

static const char test_config[] =
	"buffers { size_kb: 4096 }\nduration_ms: 2000\n"
	"data_sources { config { name: \"linux.ftrace\" ftrace_config { ftrace_events: "
	"\"sched_switch\" ftrace_events: \"cpu_idle\" ftrace_events: \"cpu_frequency\" "
	"ftrace_events: \"gpu_frequency\" } } }\n";

/* Reads the file of -c into o->config_text. Perfetto does so when it parses the option, so a
 * missing file is its first error. Returns -1 to continue, else the exit code. */
static int perfetto_options_read_config(struct perfetto_options *o)
{
	struct strbuf *b = &o->config_text;
	int r;

	strbuf_clear(b);
	if (!strcmp(o->config, ":test")) {
		strbuf_puts(b, test_config);
		return -1;
	}
	r = !strcmp(o->config, "-") ? fs_read_fd(STDIN_FILENO, CONFIG_MAX, b)
				    : fs_read_file(o->config, CONFIG_MAX, b);
	if (!r)
		return -1;
	perfetto_log("Could not open %s (errno: %d, %s)", o->config, -r, strerror(-r));
	return 1;
}

/* Handles the options that end the program, or carry a number. Returns -1 to continue, else the
 * exit code. */
static int handle_rare_option(int option, struct perfetto_options *o)
{
	switch (option) {
	case OPT_VERSION:
		puts("Perfetto v56.0 (sonda " SONDA_VERSION ")");
		return 0;
	case OPT_RESET_GUARDRAILS:
		perfetto_log("Guardrails no longer exist in perfetto_cmd; this option only exists "
			     "for backwards compatibility.");
		return 0;
	case OPT_UPLOAD:
		return perfetto_options_fail("--upload is only supported on Android");
	case OPT_DROPBOX:
		return perfetto_options_fail("--dropbox is only supported on Android");
	case OPT_NO_GUARDRAILS:
		return -1;
	case OPT_ALERT_ID:
		o->alert_id = str_leading_i64(optarg, 10);
		return -1;
	case OPT_CONFIG_ID:
		o->config_id = str_leading_i64(optarg, 10);
		return -1;
	case OPT_CONFIG_UID:
		o->config_uid = str_leading_i64(optarg, 10);
		return -1;
	case OPT_SUBSCRIPTION_ID:
		o->subscription_id = str_leading_i64(optarg, 10);
		return -1;
	case OPT_NOTIFY_FD:
		o->notify_fd = (int)str_leading_i64(optarg, 10);
		return -1;
	}
	return print_usage(o);
}

static int handle_session_option(int option, struct perfetto_options *o)
{
	switch (option) {
	case OPT_CLONE:
		o->clone = true;
		o->clone_id = str_leading_u64(optarg, 10);
		return -1;
	case OPT_CLONE_NAME:
		o->clone_name = optarg;
		return -1;
	case OPT_CLONE_BUGREPORT:
		o->clone_for_bugreport = true;
		return -1;
	case OPT_SAVE:
		o->save_for_bugreport = true;
		return -1;
	case OPT_SAVE_ALL:
		o->save_all_for_bugreport = true;
		return -1;
	case OPT_QUERY_RAW:
		o->query_raw = true;
		return -1;
	case OPT_QUERY:
		o->query = true;
		return -1;
	case OPT_LONG:
		o->query_long = true;
		return -1;
	case OPT_DETACH:
		o->detach = optarg;
		return -1;
	case OPT_ATTACH:
		o->attach = optarg;
		return -1;
	case OPT_IS_DETACHED:
		o->is_detached = optarg;
		return -1;
	case OPT_STOP:
		o->stop = true;
		return -1;
	}
	return handle_rare_option(option, o);
}

static int handle_perfetto_option(int option, struct perfetto_options *o)
{
	switch (option) {
	case 'c':
		o->config = optarg;
		return perfetto_options_read_config(o);
	case 'o':
		o->out = optarg;
		return -1;
	case 'd':
		o->background = true;
		return -1;
	case 'D':
		o->background = o->background_wait = true;
		return -1;
	case 't':
		o->time = optarg;
		return -1;
	case 'b':
		o->buffer = optarg;
		return -1;
	case 's':
		o->size = optarg;
		return -1;
	case 'a':
		return perfetto_options_add(&o->apps, optarg);
	case OPT_TXT:
		o->text = true;
		return -1;
	case OPT_TXT_LOSSY:
		o->lossy_text = true;
		return -1;
	case OPT_NO_CLOBBER:
		o->no_clobber = true;
		return -1;
	case OPT_NOTE:
		return add_note_option(o);
	}
	return handle_session_option(option, o);
}

/* Returns true if -t, -b, -s, -a or words request a session without a config. */
static bool perfetto_has_shorthand(const struct perfetto_options *o)
{
	return o->time || o->buffer || o->size || o->apps.n || o->words.n;
}

/* Checks which options go together. The order is Perfetto's, so of several mistakes both programs
 * report the same one. Returns -1 to continue, else the exit code. */
static int perfetto_options_check(const struct perfetto_options *o)
{
	bool query = o->query || o->query_raw, attach = o->attach || o->is_detached;
	bool bugreport = o->save_for_bugreport || o->save_all_for_bugreport;

	if (query && (o->detach || attach || o->background))
		return perfetto_options_fail("--query cannot be combined with any other argument");
	if (o->query_long && !query)
		return perfetto_options_fail("--long can only be used with --query");
	if (o->detach && attach)
		return perfetto_options_fail("--attach and --detach are mutually exclusive");
	if (o->text && o->lossy_text)
		return perfetto_options_fail("--txt and --txt-lossy are mutually exclusive");
	if (o->detach && o->background)
		return perfetto_options_fail("--detach and --background are mutually exclusive");
	if (o->stop && !o->attach)
		return perfetto_options_fail(
			"--stop is supported only in combination with --attach");
	if (bugreport &&
	    (attach || o->detach || query || perfetto_has_shorthand(o) || o->background_wait))
		return perfetto_options_fail("--save-for-bugreport cannot take any other argument");
	if (o->clone && o->clone_name)
		return perfetto_options_fail("--clone and --clone-by-name are mutually exclusive");
	if (o->clone_for_bugreport && !o->clone && !o->clone_name)
		return perfetto_options_fail(
			"--clone-for-bugreport requires --clone or --clone-by-name");
	if ((attach || query || o->save_all_for_bugreport) &&
	    (o->config_text.len || perfetto_has_shorthand(o)))
		return perfetto_options_fail("Cannot specify a trace config with this option");
	if (o->save_all_for_bugreport && o->out)
		return perfetto_options_fail(
			"Can't pass an --out file (or --upload) with this option");
	if (o->save_for_bugreport && o->out)
		return perfetto_options_fail("The TraceConfig is empty");
	if (o->config_text.len && perfetto_has_shorthand(o))
		return perfetto_options_fail(
			"Cannot specify both -c/--config and any of --time, --size, --buffer, "
			"--app, ATRACE_CAT, FTRACE_EVENT");
	return -1;
}

int perfetto_options_parse(int argc, char **argv, struct perfetto_options *o)
{
	int option, code = -1;

	*o = (struct perfetto_options){.program = argv[0], .notify_fd = -1};
	if (argc <= 1)
		return print_usage(o);
	while (code < 0 &&
	       (option = getopt_long(argc, argv, "hc:o:dDt:b:s:a:", long_options, NULL)) != -1)
		code = handle_perfetto_option(option, o);
	for (int i = optind; code < 0 && i < argc; i++)
		code = perfetto_options_add(&o->words, argv[i]);
	return code < 0 ? perfetto_options_check(o) : code;
}

void perfetto_options_deinit(struct perfetto_options *o)
{
	strbuf_deinit(&o->config_text);
	free(o->apps.names);
	free(o->words.names);
	free(o->notes.names);
}

/* The shorthand options become the text of a config, which is then read as any other. */

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit times[] = {
	{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0}};
static const struct unit sizes[] = {{"k", 1},	    {"kb", 1},	     {"m", 1024}, {"mb", 1024},
				    {"g", 1048576}, {"gb", 1048576}, {NULL, 0}};

/* Parses "10s". A number needs a unit, unless it is 0. */
static bool parse_number_with_unit(const char *text, const struct unit *units, uint64_t *ret)
{
	const char *end = text;
	uint64_t n;

	if (!isdigit((unsigned char)*text))
		return false;
	(void)str_read_u64(&end, 10, &n);
	*ret = 0;
	if (n == 0 && !*end)
		return true;
	for (; units->name; units++)
		if (!strcmp(units->name, end)) {
			*ret = n * units->factor;
			return true;
		}
	return false;
}

static bool parse_flag(const char *flag, const char *text, const struct unit *units, uint64_t *ret)
{
	if (!text || parse_number_with_unit(text, units, ret))
		return true;
	perfetto_log("%s argument is invalid", flag);
	return false;
}

/* Appends name: "text". */
static void put_string_field(struct strbuf *b, const char *name, const char *text)
{
	strbuf_printf(b, " %s: \"", name);
	for (; *text; text++) {
		if (strchr("\\\"\n", *text))
			strbuf_putc(b, '\\');
		strbuf_putc(b, *text == '\n' ? 'n' : *text);
	}
	strbuf_puts(b, "\"");
}

static bool is_hypervisor(const char *word)
{
	return !strcmp(word, "hyp") || !strcmp(word, "hypervisor");
}

static void put_ftrace(const struct perfetto_options *o, struct strbuf *b)
{
	bool any = o->apps.n;

	for (size_t i = 0; i < o->words.n; i++)
		any = any || !is_hypervisor(o->words.names[i]);
	if (any)
		strbuf_puts(b, "data_sources { config { name: \"linux.ftrace\" ftrace_config { "
			       "symbolize_ksyms: true");
	for (size_t i = 0; i < o->words.n; i++)
		if (!is_hypervisor(o->words.names[i]))
			put_string_field(b,
					 strchr(o->words.names[i], '/') ? "ftrace_events"
									: "atrace_categories",
					 o->words.names[i]);
	for (size_t i = 0; i < o->apps.n; i++)
		put_string_field(b, "atrace_apps", o->apps.names[i]);
	if (any)
		strbuf_puts(b, " } } }\n");
}

/* Appends the data sources of the words that have one of their own. */
static void put_sources_of_words(const struct perfetto_options *o, struct strbuf *b)
{
	for (size_t i = 0; i < o->words.n; i++) {
		const char *word = o->words.names[i];

		if (is_hypervisor(word))
			strbuf_printf(
				b,
				"data_sources { config { name: \"linux.ftrace\" ftrace_config "
				"{ instance_name: \"%s\" ftrace_events: \"%s/*\" } } }\n",
				word, word);
		else if (!strcmp(word, "gfx"))
			strbuf_puts(b, "data_sources { config { name: "
				       "\"android.surfaceflinger.frametimeline\" } }\n");
		else if (!strcmp(word, "disk"))
			strbuf_puts(b, "data_sources { config { name: \"linux.sys_stats\" "
				       "sys_stats_config { diskstat_period_ms: 1000 } } }\n");
	}
}

static bool put_shorthand_config(const struct perfetto_options *o, struct strbuf *b)
{
	uint64_t ms = 10000, buffer_kb = 32768, file_kb = 0;

	if (!parse_flag("--time", o->time, times, &ms) ||
	    !parse_flag("--buffer", o->buffer, sizes, &buffer_kb) ||
	    !parse_flag("--size", o->size, sizes, &file_kb))
		return false;
	strbuf_printf(b,
		      "buffers { size_kb: %" PRIu64 " }\nduration_ms: %" PRIu64
		      "\nflush_period_ms: 30000\nmax_file_size_bytes: %" PRIu64 "\n",
		      buffer_kb, ms, file_kb << 10);
	if (o->size)
		strbuf_puts(b, "write_into_file: true\n");
	put_ftrace(o, b);
	strbuf_puts(b,
		    "data_sources { config { name: \"linux.process_stats\" target_buffer: 0 } }\n"
		    "data_sources { config { name: \"linux.system_info\" target_buffer: 0 } }\n");
	put_sources_of_words(o, b);
	return true;
}

/* ---- what the command line adds ---- */

static int64_t random_number(void)
{
	int64_t n = 0;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		n = (int64_t)getpid();
	return n;
}

/* Appends, as the text of a config, what the command line adds to c. */
static void put_extra_config(const struct perfetto_options *o, const Pb__TraceConfig *c,
			     struct strbuf *b)
{
	if (!c->trace_uuid_msb && !c->trace_uuid_lsb)
		strbuf_printf(b, "trace_uuid_msb: %" PRId64 " trace_uuid_lsb: %" PRId64 "\n",
			      (random_number() & ~INT64_C(0xf000)) | 0x4000,
			      (int64_t)(((uint64_t)random_number() & ~(UINT64_C(3) << 62)) |
					UINT64_C(1) << 63));
	strbuf_printf(b, "statsd_logging: STATSD_LOGGING_DISABLED\nstatsd_metadata {");
	if (o->alert_id)
		strbuf_printf(b, " triggering_alert_id: %" PRId64, o->alert_id);
	if (o->config_uid)
		strbuf_printf(b, " triggering_config_uid: %" PRId64, o->config_uid);
	if (o->config_id)
		strbuf_printf(b, " triggering_config_id: %" PRId64, o->config_id);
	if (o->subscription_id)
		strbuf_printf(b, " triggering_subscription_id: %" PRId64, o->subscription_id);
	strbuf_puts(b, " }\n");
	if (o->notes.n)
		strbuf_puts(b, "trace_attributes {");
	for (size_t i = 0; i < o->notes.n; i++) {
		const char *note = o->notes.names[i], *equals = strchrnul(note, '=');
		_cleanup_(freep) char *key = strndup(note, (size_t)(equals - note));

		strbuf_puts(b, " attribute {");
		put_string_field(b, "key", key ? key : "");
		put_string_field(b, "string_value", *equals ? equals + 1 : "");
		strbuf_puts(b, " }");
	}
	if (o->notes.n)
		strbuf_puts(b, " }\n");
}

/* Merges the extras into *config: protobuf parses two serialized messages in a row as one message,
 * with the fields of both. Returns 0, or -ENOMEM and leaves *config unchanged. */
static int perfetto_config_add_extras(const struct perfetto_options *o, Pb__TraceConfig **config)
{
	struct strbuf text = {0}, errors = {0}, bytes = {0};
	Pb__TraceConfig *extras = NULL, *whole = NULL;
	size_t n;
	char *to;
	int r;

	put_extra_config(o, *config, &text);
	r = text.failed ? -ENOMEM
			: trace_config_load("extras", text.s, text.len, TRACE_CONFIG_TEXT, &errors,
					    &extras);
	if (!r) {
		n = pb__trace_config__get_packed_size(*config);
		to = strbuf_reserve(&bytes, n + pb__trace_config__get_packed_size(extras));
		if (to) {
			n = pb__trace_config__pack(*config, (uint8_t *)to);
			n += pb__trace_config__pack(extras, (uint8_t *)to + n);
			whole = pb__trace_config__unpack(NULL, n, (uint8_t *)to);
		}
		pb__trace_config__free_unpacked(extras, NULL);
	}
	if (whole) {
		pb__trace_config__free_unpacked(*config, NULL);
		*config = whole;
	}
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	strbuf_deinit(&bytes);
	return whole ? 0 : -ENOMEM;
}

static int report_invalid_config(void)
{
	perfetto_log("The trace config is invalid, bailing out.");
	return 1;
}

/* Makes the config from the text of -c. Returns -1 or the exit code. */
static int load_config(const struct perfetto_options *o, Pb__TraceConfig **ret)
{
	const struct strbuf *text = &o->config_text;
	bool is_text = o->text || o->lossy_text || *o->config == ':';
	struct strbuf errors = {0};
	int code = -1;

	if (!is_text && text_looks_like(text->s, text->len)) {
		code = report_invalid_config();
		perfetto_log("Looks like you are passing a textual config but I'm expecting a "
			     "proto-encoded binary config.");
		perfetto_log("Try adding --txt to the cmdline.");
	} else if (trace_config_load(o->config, text->s, text->len,
				     o->lossy_text ? TRACE_CONFIG_TEXT_LOSSY
				     : is_text	   ? TRACE_CONFIG_TEXT
						   : TRACE_CONFIG_DETECT,
				     &errors, ret)) {
		fputs(errors.s ? errors.s : "", stderr);
		code = report_invalid_config();
	}
	strbuf_deinit(&errors);
	return code;
}

/* Makes the config of the shorthand options. Returns -1 or the exit code. */
static int load_shorthand(const struct perfetto_options *o, Pb__TraceConfig **ret)
{
	struct strbuf text = {0}, errors = {0};
	int code = -1;

	if (!put_shorthand_config(o, &text) ||
	    trace_config_load("flags", text.s, text.len, TRACE_CONFIG_TEXT, &errors, ret)) {
		fputs(errors.s ? errors.s : "", stderr);
		code = report_invalid_config();
	}
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	return code;
}

int perfetto_config_make(const struct perfetto_options *o, Pb__TraceConfig **ret)
{
	int code;

	if (o->config_text.len) {
		code = load_config(o, ret);
	} else if (perfetto_has_shorthand(o)) {
		code = load_shorthand(o, ret);
	} else {
		perfetto_log("The TraceConfig is empty");
		return 1;
	}
	if (code < 0 && perfetto_config_add_extras(o, ret)) {
		pb__trace_config__free_unpacked(TAKE_PTR(*ret), NULL);
		code = report_invalid_config();
	}
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/metrics/metrics_options.h"

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/event_loop/sock.h"
#include "base/text/str.h"
#include "cli/record/option_values.h"
#include "cli/terminal/verb.h"
#include "config/trace_config.h"

#define SUBJECTS_MAX 10000
#define SERIES_MIN 100
#define SERIES_MAX 1000000

const char metrics_usage[] =
	"usage: sonda metrics [OPTION]...\n"
	"\n"
	"Serves counters of this machine and its control groups to Prometheus at\n"
	"http://127.0.0.1:9437/metrics until stopped. The counters come from the tracing service.\n"
	"\n"
	"  -l, --listen ADDRESS   127.0.0.1:PORT or the path of a unix socket (default "
	"127.0.0.1:9437);\n"
	"                         ignored if systemd passes sockets\n"
	"      --allow USER       also allow USER to connect (repeatable); root, prometheus and\n"
	"                         the user running sonda metrics are always allowed\n"
	"      --subjects N       number of control groups with their own series (default 200), "
	"chosen by\n"
	"                         CPU time; all others are counted as id=\"other\"\n"
	"      --series N         maximum number of series in total (default 20000)\n"
	"      --add FAMILY       also export a family per control group: cpu-time (off-CPU time\n"
	"                         by state) or syscalls (repeatable)\n"
	"      --ship DIR         a directory given to sonda ship --status (repeatable; default:\n"
	"                         /run/sonda-ship and /run/sonda-ship-collect)\n"
	"      --socket ADDRESS   address of the service's consumer socket\n"
	"\n"
	"Alerts: POST /alerts accepts alerts from Alertmanager. An alert makes the recorder save\n"
	"a snapshot, or activates a trigger for tracing sessions.\n"
	"      --alerts FILE      accept alerts that carry the bearer token in FILE\n"
	"      --alert-match LABEL=GLOB   only alerts with a matching label (repeatable; all\n"
	"                         must match)\n"
	"      --alert-trigger GLOB=NAME   an alert whose name matches GLOB activates the trigger "
	"NAME\n"
	"                         (repeatable; first match wins); other alerts go to the "
	"recorder,\n"
	"                         and only with --recorder\n"
	"      --alert-limit N    pass on at most N alerts per hour (default 12)\n"
	"      --alert-delay TIME\n"
	"                         assumed delay between the start of an alert and its arrival\n"
	"                         (default 2m); sonda warns at startup if the recorder's ring is\n"
	"                         shorter\n"
	"      --recorder SOCKET  the socket given to sonda recorder --alerts (default\n"
	"                         /run/sonda-alerts)\n"
	"  -h, --help             print this help\n";

static const struct option long_options[] = {
	{"listen", required_argument, NULL, 'l'},
	{"allow", required_argument, NULL, 'a'},
	{"subjects", required_argument, NULL, 'n'},
	{"series", required_argument, NULL, 'm'},
	{"add", required_argument, NULL, 'f'},
	{"ship", required_argument, NULL, 's'},
	{"socket", required_argument, NULL, 'S'},
	{"alerts", required_argument, NULL, 'A'},
	{"alert-match", required_argument, NULL, 'M'},
	{"alert-trigger", required_argument, NULL, 'T'},
	{"alert-limit", required_argument, NULL, 'L'},
	{"alert-delay", required_argument, NULL, 'D'},
	{"recorder", required_argument, NULL, 'R'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* ---- the command line ---- */

static int metrics_add_user(struct metrics_options *o, uid_t uid, struct err_text *e)
{
	if (o->n_users == METRICS_USERS_MAX)
		return err_set(e, -EINVAL, "--allow: too many users; the limit is %d",
			       METRICS_USERS_MAX);
	o->users[o->n_users++] = uid;
	return 0;
}

static int metrics_parse_user(struct metrics_options *o, const char *text, struct err_text *e)
{
	const struct passwd *user;
	uint32_t uid;

	if (str_to_u32(text, &uid) == 0)
		return metrics_add_user(o, uid, e);
	user = getpwnam(text);
	if (!user)
		return err_set(e, -EINVAL, "--allow: user '%.80s' does not exist", text);
	return metrics_add_user(o, user->pw_uid, e);
}

/* Only this machine may connect: other addresses have no user that could be checked. */
static int metrics_check_listen(const char *address, struct err_text *e)
{
	bool is_unix = sock_family_of(address) == SOCK_FAMILY_UNIX_PATH ||
		       sock_family_of(address) == SOCK_FAMILY_UNIX_ABSTRACT;

	if (sock_check(address) == 0 && (is_unix || str_starts(address, "127.0.0.1:")))
		return 0;
	return err_set(e, -EINVAL,
		       "--listen '%.80s' is neither 127.0.0.1:PORT nor a unix socket; use a "
		       "reverse proxy for access from other machines",
		       address);
}

static int metrics_parse_number(const char *option, uint32_t min, uint32_t max, uint32_t *ret,
				struct err_text *e)
{
	if (str_to_u32(optarg, ret) < 0 || *ret < min || *ret > max)
		return err_set(e, -EINVAL, "%s '%.40s' is not a number from %u to %u", option,
			       optarg, min, max);
	return 0;
}

static int metrics_parse_family(struct metrics_options *o, struct err_text *e)
{
	if (!strcmp(optarg, "cpu-time"))
		o->adds_cpu_time = true;
	else if (!strcmp(optarg, "syscalls"))
		o->adds_syscalls = true;
	else
		return err_set(e, -EINVAL, "--add '%.80s': expected cpu-time or syscalls", optarg);
	return 0;
}

static int metrics_add_alert_match(struct metrics_options *o, struct err_text *e)
{
	const char *equals = strchr(optarg, '=');

	if (!equals || equals == optarg || o->n_matches == ALERT_MATCHES_MAX)
		return err_set(e, -EINVAL,
			       "--alert-match '%.80s': expected LABEL=GLOB (at most %d of them); "
			       "example: instance=web1:*",
			       optarg, ALERT_MATCHES_MAX);
	o->matches[o->n_matches++] = optarg;
	return 0;
}

static int metrics_parse_trigger(struct metrics_options *o, struct err_text *e)
{
	const char *equals = strrchr(optarg, '=');

	if (!equals || equals == optarg || !equals[1] || o->n_triggers == ALERT_TRIGGERS_MAX)
		return err_set(e, -EINVAL,
			       "--alert-trigger '%.80s': expected GLOB=NAME (at most %d of them); "
			       "example: 'SondaSlow*=slow'",
			       optarg, ALERT_TRIGGERS_MAX);
	o->triggers[o->n_triggers++] = optarg;
	return 0;
}

static int metrics_handle_option(void *ctx, int option, struct err_text *e)
{
	struct metrics_options *o = ctx;

	switch (option) {
	case 'l':
		o->listen = optarg;
		return metrics_check_listen(optarg, e);
	case 'a':
		return metrics_parse_user(o, optarg, e);
	case 'n':
		return metrics_parse_number("--subjects", 0, SUBJECTS_MAX, &o->subjects, e);
	case 'm':
		return metrics_parse_number("--series", SERIES_MIN, SERIES_MAX, &o->series, e);
	case 'f':
		return metrics_parse_family(o, e);
	case 's':
		if (o->n_ship == METRICS_SHIP_MAX)
			return err_set(e, -EINVAL, "--ship: too many directories; the limit is %d",
				       METRICS_SHIP_MAX);
		o->ship[o->n_ship++] = optarg;
		return 0;
	case 'A':
		o->token_file = optarg;
		return 0;
	case 'M':
		return metrics_add_alert_match(o, e);
	case 'T':
		return metrics_parse_trigger(o, e);
	case 'L':
		return metrics_parse_number("--alert-limit", 1, ALERT_LIMIT_MAX, &o->alert_limit,
					    e);
	case 'D':
		return option_parse_duration("--alert-delay", optarg, &o->alert_delay_ms, e);
	case 'R':
		o->recorder = optarg;
		return 0;
	case 'S':
		o->socket = optarg;
		return option_check_socket(optarg, e);
	default:
		return -EINVAL;
	}
}

int metrics_options_parse(int argc, char **argv, struct metrics_options *ret, struct err_text *e)
{
	const struct passwd *prometheus;
	int r;

	*ret = (struct metrics_options){
		.listen = METRICS_DEFAULT_LISTEN,
		.subjects = METRICS_DEFAULT_SUBJECTS,
		.series = METRICS_DEFAULT_SERIES,
		.alert_limit = METRICS_DEFAULT_ALERT_LIMIT,
		.alert_delay_ms = METRICS_DEFAULT_ALERT_DELAY_MS,
		.users = {geteuid(), 0},
		.n_users = 2,
	};
	prometheus = getpwnam("prometheus");
	if (prometheus)
		ret->users[ret->n_users++] = prometheus->pw_uid;
	r = options_parse(argc, argv, ":l:h", long_options, metrics_handle_option, ret, e);
	if (r > 0) {
		ret->help = true;
		return 0;
	}
	if (!ret->recorder && !ret->n_triggers)
		ret->recorder = METRICS_DEFAULT_RECORDER;
	if (!ret->n_ship) {
		ret->ship[ret->n_ship++] = "/run/sonda-ship";
		ret->ship[ret->n_ship++] = "/run/sonda-ship-collect";
	}
	if (!r && optind < argc)
		r = err_set(e, -EINVAL, "unexpected word '%.80s'; sonda metrics takes options only",
			    argv[optind]);
	return r;
}

/* ---- the config ---- */

/* Sums by process are rows, which are read only for --add: tracks of processes would cost more. */
static const char config_frame[] =
	"buffers { size_kb: 16384 fill_policy: RING_BUFFER }\n"
	"unique_session_name: \"metrics\"\n"
	"builtin_data_sources { disable_clock_snapshotting: true disable_trace_config: true\n"
	"  disable_system_info: true disable_service_events: true\n"
	"  disable_extension_descriptors: true disable_chunk_usage_histograms: true }\n"
	"data_sources { config { name: \"linux.cgroup_members\" } }\n"
	"data_sources { config { name: \"linux.cgroup_stats\" cgroup_stats_config { period_ms: "
	"10000\n"
	"  files: \"cpu.stat\" files: \"memory.current\" files: \"memory.stat\"\n"
	"  files: \"memory.events\" files: \"io.stat\" files: \"pids.current\"\n"
	"  files: \"cpu.pressure\" files: \"memory.pressure\" files: \"io.pressure\"\n"
	"  files: \"irq.pressure\"\n"
	"  counters: \"cpu.stat *_usec\" counters: \"cpu.stat nr_*\" counters: \"memory.current\"\n"
	"  counters: \"memory.stat anon\" counters: \"memory.stat file\"\n"
	"  counters: \"memory.stat kernel\" counters: \"memory.stat shmem\"\n"
	"  counters: \"memory.stat pgmajfault\" counters: \"memory.events *\"\n"
	"  counters: \"io.stat * [rw]bytes\" counters: \"io.stat * [rw]ios\"\n"
	"  counters: \"pids.current\" counters: \"*.pressure * total\"\n"
	"} } }\n";

int metrics_config_build(const struct metrics_options *o, Pb__TraceConfig **ret)
{
	struct strbuf text = {0}, errors = {0};
	int r;

	strbuf_puts(&text, config_frame);
	strbuf_printf(
		&text,
		"incremental_state_config { clear_period_ms: %u }\n"
		"data_sources { config { name: \"linux.ebpf_counters\" ebpf_counters_config {\n"
		"  families: RUNQ families: BLOCK families: INTERRUPTS families: TCP\n"
		"  families: MEMORY families: FAULTS families: LOCKS%s%s\n"
		"  period_ms: %u top_n: 1 no_call_names: true process_rows: true\n"
		"  histogram_rows: true waits_by_cgroup: true\n"
		"  outliers { runq_us: 1000 max_per_second: 2 } } } }\n",
		METRICS_CLEAR_MS, o->adds_cpu_time ? " families: CPU_TIME" : "",
		o->adds_syscalls ? " families: SYSCALLS" : "", METRICS_PERIOD_MS);
	if (text.failed)
		r = -ENOMEM;
	else
		r = trace_config_load("sonda metrics", text.s, text.len, TRACE_CONFIG_TEXT, &errors,
				      ret);
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/record/record_threads.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"
#include "cli/top/top_columns.h"
#include "config/trace_config.h"

#define PERIOD_MIN_MS 100
#define PERIOD_MAX_MS 3600000
#define PERIOD_MS 1000

static const char usage[] =
	"usage: sonda top [OPTION]...\n"
	"\n"
	"Live view of processes, refreshed every second: CPU time, waits for a CPU, blocked time,\n"
	"system calls, I/O and memory. Keys: q quits, h lists the others.\n"
	"\n"
	"Rows:\n"
	"  -H, --threads          show threads instead of processes\n"
	"      --by KEY           group by: program, unit, container, pod or cgroup\n"
	"      --tree             show processes under their parents, or under their --by group; "
	"control\n"
	"                         groups are nested, each with the total of its subtree\n"
	"  -s, --sort KEY         sort by: pid, cpu (default), runq, block, sleep, syscalls,\n"
	"                         systime, errors, read, write, rss, command\n"
	"      --top N            only the first N rows\n"
	"\n"
	"Which processes:\n"
	"  -p, --pid PIDS         process ids, or a process name: 12,34 or nginx\n"
	"      --unit NAME        processes in a systemd service or scope: nginx.service\n"
	"      --container NAME   processes in a container, by name or id prefix\n"
	"      --pod NS/NAME      processes in a Kubernetes pod\n"
	"      --cgroup PATH      processes in a control group or the groups below it\n"
	"      --program NAME     processes of a program, including those that start later\n"
	"\n"
	"Screens:\n"
	"  -d, --delay SECONDS    time between refreshes (default 1, at least 0.1)\n"
	"  -n, --count N          exit after N screens\n"
	"  -b, --batch            print each screen as plain text, first 20 rows only (default if\n"
	"                         standard output is not a terminal)\n"
	"      --json             print one line of JSON per screen, with all processes\n"
	"      --color WHEN       always, never or auto (default)\n"
	"      --socket ADDRESS   address of the service's consumer socket\n"
	"  -h, --help             print this help\n";

enum { OPT_BY = 256, OPT_TREE, OPT_UNIT, OPT_CONTAINER, OPT_POD, OPT_CGROUP, OPT_PROGRAM };

static const char letters[] = ":d:n:s:p:bHh";
static const struct option long_options[] = {
	{"delay", required_argument, NULL, 'd'},
	{"count", required_argument, NULL, 'n'},
	{"sort", required_argument, NULL, 's'},
	{"pid", required_argument, NULL, 'p'},
	{"threads", no_argument, NULL, 'H'},
	{"by", required_argument, NULL, OPT_BY},
	{"tree", no_argument, NULL, OPT_TREE},
	{"unit", required_argument, NULL, OPT_UNIT},
	{"container", required_argument, NULL, OPT_CONTAINER},
	{"pod", required_argument, NULL, OPT_POD},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"program", required_argument, NULL, OPT_PROGRAM},
	{"top", required_argument, NULL, 'T'},
	{"batch", no_argument, NULL, 'b'},
	{"json", no_argument, NULL, 'j'},
	{"color", required_argument, NULL, 'C'},
	{"socket", required_argument, NULL, 'S'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

void top_print_usage(void)
{
	help_print(usage);
}

static int parse_delay(const char *text, struct top_options *o, struct err_text *e)
{
	uint32_t ms;

	if (str_to_duration_ms(text, &ms) < 0 || ms < PERIOD_MIN_MS || ms > PERIOD_MAX_MS)
		return err_set(e, -EINVAL,
			       "-d '%.40s' is not a time from 0.1 to 3600 s; examples: 1, 0.5",
			       text);
	o->period_ms = ms;
	return 0;
}

static int parse_sort(const char *text, struct top_options *o, struct err_text *e)
{
	struct strbuf keys = {0};
	int column = top_find_column(text);

	if (column >= 0) {
		o->sort = (size_t)column;
		return 0;
	}
	top_put_column_keys(&keys);
	err_set(e, -EINVAL, "-s: unknown sort key '%.40s'; valid keys: %s", text,
		keys.s ? keys.s : "");
	strbuf_deinit(&keys);
	return -EINVAL;
}

static int parse_positive_number(const char *option, const char *text, uint64_t max, uint64_t *ret,
				 struct err_text *e)
{
	if (str_to_u64(text, ret) < 0 || !*ret || *ret > max)
		return err_set(e, -EINVAL, "%s '%.40s' is not a number above 0", option, text);
	return 0;
}

static int parse_by(const char *text, struct top_options *o, struct err_text *e)
{
	if (top_by_parse(text, &o->by))
		return 0;
	return err_set(e, -EINVAL,
		       "--by: unknown key '%.40s'; valid keys: process, program, unit, container, "
		       "pod, cgroup",
		       text);
}

static int parse_pod(const char *text, struct top_options *o, struct err_text *e)
{
	if (!strchr(text, '/'))
		return err_set(e, -EINVAL, "--pod %.80s: expected NAMESPACE/NAME", text);
	return arg_list_add(&o->pods, text);
}

static int top_options_handle_option(void *ctx, int option, struct err_text *e)
{
	struct top_options *o = ctx;
	uint64_t n;
	int r;

	switch (option) {
	case 'd':
		return parse_delay(optarg, o, e);
	case 'n':
		return parse_positive_number("-n", optarg, UINT64_MAX, &o->count, e);
	case 's':
		return parse_sort(optarg, o, e);
	case 'p':
		return option_parse_pids("-p", optarg, &o->pids, e);
	case 'H':
		o->by_thread = true;
		return 0;
	case OPT_BY:
		return parse_by(optarg, o, e);
	case OPT_TREE:
		o->tree = true;
		return 0;
	case OPT_UNIT:
		return arg_list_add(&o->units, optarg);
	case OPT_CONTAINER:
		return arg_list_add(&o->containers, optarg);
	case OPT_POD:
		return parse_pod(optarg, o, e);
	case OPT_CGROUP:
		return arg_list_add(&o->cgroups, optarg);
	case OPT_PROGRAM:
		return arg_list_add(&o->programs, optarg);
	case 'T':
		r = parse_positive_number("--top", optarg, SIZE_MAX, &n, e);
		o->rows = r ? 0 : (size_t)n;
		return r;
	case 'b':
		o->batch = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'C':
		o->color = optarg;
		return option_check_color("--color", optarg, e);
	case 'S':
		o->socket = optarg;
		return option_check_socket(optarg, e);
	default:
		return -EINVAL;
	}
}

/* Checks that options fit each other. */
static int top_options_check(const struct top_options *o, struct err_text *e)
{
	bool groups = o->units.n || o->containers.n || o->pods.n || o->cgroups.n;

	if (o->pids.n && top_options_name_subject(o))
		return err_set(e, -EINVAL, "-p cannot be combined with --%s",
			       groups ? "unit, --container, --pod or --cgroup" : "program");
	if (o->programs.n && groups)
		return err_set(e, -EINVAL,
			       "--program cannot be combined with --unit, --container, --pod or "
			       "--cgroup");
	return 0;
}

int top_options_parse(int argc, char **argv, struct top_options *ret, struct err_text *e)
{
	int r;

	ret->period_ms = PERIOD_MS;
	ret->color = "auto";
	ret->sort = (size_t)top_find_column("cpu");
	r = options_parse(argc, argv, letters, long_options, top_options_handle_option, ret, e);
	if (r > 0) {
		ret->help = true;
		return 0;
	}
	if (!r && optind < argc)
		r = err_set(e, -EINVAL, "unexpected word '%.80s'; sonda top takes options only",
			    argv[optind]);
	return r ? r : top_options_check(ret, e);
}

void top_options_deinit(struct top_options *o)
{
	free(o->pids.pids);
	free(o->units.args);
	free(o->containers.args);
	free(o->pods.args);
	free(o->cgroups.args);
	free(o->programs.args);
}

bool top_options_name_subject(const struct top_options *o)
{
	return o->units.n || o->containers.n || o->pods.n || o->cgroups.n || o->programs.n;
}

Pb__SubjectConfig top_options_subject(const struct top_options *o)
{
	Pb__SubjectConfig c = PB__SUBJECT_CONFIG__INIT;

	c.n_units = o->units.n;
	c.units = (char **)o->units.args;
	c.n_containers = o->containers.n;
	c.containers = (char **)o->containers.args;
	c.n_pods = o->pods.n;
	c.pods = (char **)o->pods.args;
	c.n_cgroups = o->cgroups.n;
	c.cgroups = (char **)o->cgroups.args;
	c.n_programs = o->programs.n;
	c.programs = (char **)o->programs.args;
	return c;
}

/* The buffer holds many periods: a terminal that stops the output for a time loses nothing. Values
 * are written when they change. Descriptions are repeated, in case the buffer wrapped
 * nevertheless. */
static const char frame[] =
	"buffers { size_kb: 32768 fill_policy: RING_BUFFER }\n"
	"incremental_state_config { clear_period_ms: 60000 }\n"
	"builtin_data_sources { disable_clock_snapshotting: true disable_trace_config: true\n"
	"  disable_system_info: true disable_service_events: true\n"
	"  disable_extension_descriptors: true disable_chunk_usage_histograms: true }\n"
	"priority_boost { policy: POLICY_SCHED_OTHER priority: 0 }\n";

static void put_ebpf(const struct top_options *o, bool with_processes, struct strbuf *b)
{
	strbuf_printf(
		b,
		"data_sources { config { name: \"linux.ebpf_counters\" ebpf_counters_config {\n"
		"  families: RUNQ families: CPU_TIME families: SYSCALLS%s\n"
		"  period_ms: %u top_n: %u no_call_names: true process_rows: true%s\n",
		with_processes ? " families: PROCESSES" : "", o->period_ms, TOP_EBPF_PROCESSES,
		o->by_thread ? " thread_rows: true" : "");
	for (size_t i = 0; i < o->pids.n; i++)
		strbuf_printf(b, "  pids: %u\n", o->pids.pids[i]);
	strbuf_puts(b, "} } }\n");
}

static void put_process_stats(const struct top_options *o, bool with_sched, struct strbuf *b)
{
	strbuf_printf(
		b,
		"data_sources { config { name: \"linux.process_stats\" process_stats_config {\n"
		"  scan_all_processes_on_start: true record_process_age: true\n"
		"  quirks: DISABLE_ON_DEMAND skip_main_thread_message: true\n"
		"  proc_stats_poll_ms: %u record_process_io: true%s } } }\n",
		MAX(o->period_ms, 100u), with_sched ? " record_thread_sched: true" : "");
}

int top_config_build(const struct top_options *o, enum top_sources sources, Pb__TraceConfig **ret)
{
	struct strbuf text = {0}, errors = {0};
	int r;

	strbuf_puts(&text, frame);
	if (sources != TOP_PROC)
		put_ebpf(o, sources == TOP_EBPF, &text);
	if (sources != TOP_EBPF)
		put_process_stats(o, sources == TOP_PROC, &text);
	strbuf_printf(
		&text,
		"data_sources { config { name: \"linux.sys_stats\" sys_stats_config {\n"
		"  stat_period_ms: %u stat_counters: STAT_CPU_TIMES psi_period_ms: %u\n"
		"  meminfo_period_ms: %u\n"
		"  meminfo_counters: MEMINFO_MEM_TOTAL meminfo_counters: MEMINFO_MEM_AVAILABLE\n"
		"  meminfo_counters: MEMINFO_SWAP_TOTAL meminfo_counters: MEMINFO_SWAP_FREE\n"
		"} } }\n",
		o->period_ms, o->period_ms, o->period_ms);
	if (top_by_needs_groups(o->by))
		strbuf_puts(&text, "data_sources { config { name: \"linux.cgroup_members\" } }\n");
	if (text.failed)
		r = -ENOMEM;
	else
		r = trace_config_load("sonda top", text.s, text.len, TRACE_CONFIG_TEXT, &errors,
				      ret);
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	if (!r && top_options_name_subject(o)) {
		Pb__SubjectConfig subject = top_options_subject(o);

		r = record_threads_restrict_to_subject(*ret, &subject);
		if (r)
			pb__trace_config__free_unpacked(*ret, NULL);
	}
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "cli/host/record_hosts.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/programs.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_input.h"

const char record_usage[] =
	"usage: sonda record [OPTION]... {-c FILE | WORD}... [-- COMMAND [ARG]...]\n"
	"Records until COMMAND exits, time is up, or Ctrl-C; Ctrl-C while saving discards the "
	"data.\n"
	"\n"
	"What to record (order matters):\n"
	"  -e, --event WORD       the same as WORD; a WORD is one of the following\n"
	"  -P, --preset NAMES     presets (-P is optional): sched irq io mem net runq processes "
	"...\n"
	"  GROUP:NAME, NAME       one kernel event: sched:sched_switch, softirq_entry\n"
	"  GROUP, 'GROUP:*'       all events in a group: block, tcp; '*irq*': all matching events\n"
	"  '!EVENT'               exclude events selected so far: '!sched_stat_*'\n"
	"      --filter EXPR      condition on the preceding event: 'prev_prio < 100'\n"
	"      --trigger ACTION   stacktrace, traceon or traceoff, with [:COUNT][ if EXPR]\n"
	"      --syscalls NAMES   system calls: read,openat\n"
	"      --strace[=CALLS]   trace system calls like strace: openat,connect or file,network\n"
	"      --kprobe, --kretprobe, --kprobe-span FUNC  kernel functions: calls, returns, "
	"slices\n"
	"      --uprobe, --uretprobe, --uprobe-span PROGRAM:FUNC  in programs: 'libc:puts(str s)'\n"
	"      --usdt PROGRAM:PROVIDER:NAME  a static probe: 'postgres:query__start(str sql)'\n"
	"      --function-graph[=FUNC]   kernel function calls, or only those made by FUNC\n"
	"      --function-filter FUNC, --function-depth N  trace only FUNC; at most N levels\n"
	"  -g, --cpu-stacks[=HZ]  sample call stacks of all processes at HZ (default 99), or -F "
	"HZ\n"
	"      --waits WHICH      which waits: "
	"min=10ms,state=D,program=NAME,rate=N,stacks=N,kernel\n"
	"      --hist TEXT        an in-kernel histogram: 'block_rq_complete: nr_sector by "
	"comm'\n"
	"      --ksyms            resolve kernel addresses (default with stacks and graphs)\n"
	"      --app CATEGORIES   track events of instrumented programs: 'net*,disk' or '*'\n"
	"\n"
	"Scope (default: all processes on all CPUs, or COMMAND and its children):\n"
	"  -p, --pid PIDS         processes 12,34 or NAME, and their future children\n"
	"      --unit NAME        a systemd service or scope: nginx.service\n"
	"      --container NAME   a container, by name or id prefix\n"
	"      --pod NS/NAME      a Kubernetes pod\n"
	"      --cgroup PATH      a control group: /system.slice/nginx.service\n"
	"      --program NAME     threads with this name, including those that start later\n"
	"      --await            allow a target that does not exist yet; record from its start\n"
	"  -a, --all              all processes, even with a COMMAND\n"
	"  -C, --cpu LIST         CPUs 0,2-5\n"
	"\n"
	"Recording and output:\n"
	"  -t, --time T           stop after T: 10, 10s, 500ms, 2m, 1h\n"
	"      --max-size SIZE    maximum size of the file: 2gb (default: free disk space)\n"
	"  -b, --buffer SIZE      keep only the end of the trace, in a ring buffer: 64mb\n"
	"  -B, --ring SIZE, --subbuf SIZE  size of each CPU's kernel ring, and of its "
	"sub-buffers\n"
	"      --clock CLOCK      boot (default) or mono_raw\n"
	"      --no-priority      keep the daemons' normal priority (default: real-time)\n"
	"      --all-machines     also record the machines connected to the service\n"
	"      --host [USER@]MACHINE, --sudo  record on MACHINE over ssh; --sudo: as root\n"
	"  -c, --config FILE      trace config, extended by the other options; - is stdin\n"
	"      --txt              read the config as text, without detecting its format\n"
	"  -o, --out FILE         output file; - is stdout (default "
	"trace-HOST-TIME-RANDOM.pftrace)\n"
	"      --socket ADDRESS   address of the service's consumer socket\n"
	"      --show-config      print the config for this command line without recording\n"
	"      --detach NAME      keep the session running in the service (sonda snapshot, stop)\n"
	"      --strict           exit with status 3 if data was lost or requested data is "
	"missing\n"
	"      --json             print the summary as JSON on standard output\n"
	"      --exit-code        exit with COMMAND's exit code if it is not 0\n"
	"  -q, --quiet            print only errors\n"
	"  -v, --verbose          print progress even without a terminal; report started daemons\n"
	"      --color WHEN       always, never or auto (default)\n"
	"  -h, --help             print this help\n"
	"Exit codes: 0 success, 1 failure, 2 usage error, 3 see --strict, others see "
	"--exit-code.\n";

/*
 * Options and words are parsed in the order in which they appear, because some options apply to the
 * word before them:
 *
 *	sched_switch --filter 'prev_prio < 100' 'irq:*' -p 12 -- ./program --its-option
 *	word 0       of word 0                  word 1  of all   command
 */

/* Options without a short letter; getopt_long returns 1 for a word. */
enum {
	OPT_WORD = 1,
	OPT_FILTER = 256,
	OPT_TRIGGER,
	OPT_SYSCALLS,
	OPT_STRACE,
	OPT_KPROBE,
	OPT_KRETPROBE,
	OPT_KPROBE_SPAN,
	OPT_UPROBE,
	OPT_URETPROBE,
	OPT_UPROBE_SPAN,
	OPT_USDT,
	OPT_GRAPH,
	OPT_GRAPH_FILTER,
	OPT_GRAPH_DEPTH,
	OPT_KSYMS,
	OPT_STACKS,
	OPT_WAITS,
	OPT_HIST,
	OPT_APP,
	OPT_SUBBUF,
	OPT_CLOCK,
	OPT_NO_PRIORITY,
	OPT_ALL_MACHINES,
	OPT_MAX_SIZE,
	OPT_TXT,
	OPT_SOCKET,
	OPT_STRICT,
	OPT_JSON,
	OPT_COLOR,
	OPT_EXIT_CODE,
	OPT_DETACH,
	OPT_SHOW_CONFIG,
	OPT_UNIT,
	OPT_CONTAINER,
	OPT_POD,
	OPT_CGROUP,
	OPT_PROGRAM,
	OPT_AWAIT,
	OPT_HOST,
	OPT_SUDO,
};

static const char short_options[] = "-:e:P:F:gp:aC:t:b:B:c:o:qvh";

static const struct option long_options[] = {
	{"event", required_argument, NULL, 'e'},
	{"preset", required_argument, NULL, 'P'},
	{"filter", required_argument, NULL, OPT_FILTER},
	{"trigger", required_argument, NULL, OPT_TRIGGER},
	{"syscalls", required_argument, NULL, OPT_SYSCALLS},
	{"strace", optional_argument, NULL, OPT_STRACE},
	{"kprobe", required_argument, NULL, OPT_KPROBE},
	{"kretprobe", required_argument, NULL, OPT_KRETPROBE},
	{"kprobe-span", required_argument, NULL, OPT_KPROBE_SPAN},
	{"uprobe", required_argument, NULL, OPT_UPROBE},
	{"uretprobe", required_argument, NULL, OPT_URETPROBE},
	{"uprobe-span", required_argument, NULL, OPT_UPROBE_SPAN},
	{"usdt", required_argument, NULL, OPT_USDT},
	{"function-graph", optional_argument, NULL, OPT_GRAPH},
	{"function-filter", required_argument, NULL, OPT_GRAPH_FILTER},
	{"function-depth", required_argument, NULL, OPT_GRAPH_DEPTH},
	{"ksyms", no_argument, NULL, OPT_KSYMS},
	{"cpu-stacks", optional_argument, NULL, OPT_STACKS},
	{"waits", required_argument, NULL, OPT_WAITS},
	{"hist", required_argument, NULL, OPT_HIST},
	{"app", required_argument, NULL, OPT_APP},
	{"pid", required_argument, NULL, 'p'},
	{"unit", required_argument, NULL, OPT_UNIT},
	{"container", required_argument, NULL, OPT_CONTAINER},
	{"pod", required_argument, NULL, OPT_POD},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"program", required_argument, NULL, OPT_PROGRAM},
	{"await", no_argument, NULL, OPT_AWAIT},
	{"all", no_argument, NULL, 'a'},
	{"cpu", required_argument, NULL, 'C'},
	{"time", required_argument, NULL, 't'},
	{"buffer", required_argument, NULL, 'b'},
	{"ring", required_argument, NULL, 'B'},
	{"subbuf", required_argument, NULL, OPT_SUBBUF},
	{"clock", required_argument, NULL, OPT_CLOCK},
	{"no-priority", no_argument, NULL, OPT_NO_PRIORITY},
	{"all-machines", no_argument, NULL, OPT_ALL_MACHINES},
	{"max-size", required_argument, NULL, OPT_MAX_SIZE},
	{"host", required_argument, NULL, OPT_HOST},
	{"sudo", no_argument, NULL, OPT_SUDO},
	{"config", required_argument, NULL, 'c'},
	{"txt", no_argument, NULL, OPT_TXT},
	{"out", required_argument, NULL, 'o'},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"strict", no_argument, NULL, OPT_STRICT},
	{"json", no_argument, NULL, OPT_JSON},
	{"exit-code", no_argument, NULL, OPT_EXIT_CODE},
	{"detach", required_argument, NULL, OPT_DETACH},
	{"show-config", optional_argument, NULL, OPT_SHOW_CONFIG},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"color", required_argument, NULL, OPT_COLOR},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* State of the parser in addition to the options. */
struct pass {
	struct record_options o;
	bool after_word; /* --filter and --trigger have a word to apply to */
	bool after_stacks; /* the last argument was --cpu-stacks without a value */
	const char *last_word; /* the last argument if it was a word, else NULL */
};

void record_options_deinit(struct record_options *o)
{
	free(o->words.args);
	free(o->presets.args);
	free(o->filters);
	free(o->triggers);
	free(o->syscalls.args);
	free(o->straced.args);
	free(o->kprobes);
	free(o->uprobes);
	free(o->graph_roots.args);
	free(o->graph_filters.args);
	free(o->waits.args);
	free(o->histograms.args);
	free(o->apps.args);
	free(o->pids.pids);
	free(o->units.args);
	free(o->containers.args);
	free(o->pods.args);
	free(o->cgroups.args);
	free(o->programs.args);
	free(o->hosts.args);
	*o = (struct record_options){0};
}

/* ---- one option ---- */

int arg_list_add(struct arg_list *l, const char *arg)
{
	if (array_reserve(&l->args, &l->cap, l->n + 1, sizeof(*l->args)))
		return -ENOMEM;
	l->args[l->n++] = arg;
	return 0;
}

static int add_word(struct pass *p, const char *word)
{
	p->after_word = true;
	return arg_list_add(&p->o.words, word);
}

/* Checks that an option has a preceding word that it can apply to. */
static int check_word_before(const struct pass *p, const char *option, struct err_text *e)
{
	const char *word;

	if (!p->after_word)
		return err_set(e, -EINVAL, "%s must follow the event that it applies to", option);
	word = p->o.words.args[p->o.words.n - 1];
	if (event_pattern_is_negative(word))
		return err_set(e, -EINVAL, "%s cannot follow '%.80s', which excludes events",
			       option, word);
	return 0;
}

static int add_word_filter(struct pass *p, struct err_text *e)
{
	struct record_options *o = &p->o;
	int r = check_word_before(p, "--filter", e);

	if (!r && !optarg[strspn(optarg, " ")])
		r = err_set(e, -EINVAL, "--filter: the condition is empty");
	if (!r)
		r = array_reserve(&o->filters, &o->cap_filters, o->n_filters + 1,
				  sizeof(*o->filters));
	if (!r)
		o->filters[o->n_filters++] = (struct word_filter){o->words.n - 1, optarg};
	return r;
}

static int add_word_trigger(struct pass *p, struct err_text *e)
{
	struct record_options *o = &p->o;
	struct trigger trigger = {0};
	int r = check_word_before(p, "--trigger", e);

	if (!r)
		r = option_parse_trigger("--trigger", optarg, &trigger, e);
	if (!r)
		r = array_reserve(&o->triggers, &o->cap_triggers, o->n_triggers + 1,
				  sizeof(*o->triggers));
	if (!r)
		o->triggers[o->n_triggers++] = (struct word_trigger){o->words.n - 1, trigger};
	return r;
}

static int add_cpu_list(struct record_options *o, struct err_text *e)
{
	int r = cpu_list_add(&o->cpus, optarg);

	o->has_cpus = true;
	if (r == -ERANGE)
		return err_set(e, -EINVAL, "-C %.80s: the CPU number is too large", optarg);
	if (r)
		return err_set(e, -EINVAL, "-C %.80s: not a list of CPUs; example: 0,2-5", optarg);
	return 0;
}

/*
 * The following three handle the options about the scope, about data, and about buffers. They
 * return 0, -EINVAL and set e, -ENOMEM, or -ENOENT for another option.
 */

static int handle_scope_option(int option, struct record_options *o, struct err_text *e)
{
	switch (option) {
	case 'p':
		return option_parse_pids("-p", optarg, &o->pids, e);
	case OPT_UNIT:
		return arg_list_add(&o->units, optarg);
	case OPT_CONTAINER:
		return arg_list_add(&o->containers, optarg);
	case OPT_POD:
		return arg_list_add(&o->pods, optarg);
	case OPT_CGROUP:
		return arg_list_add(&o->cgroups, optarg);
	case OPT_PROGRAM:
		return arg_list_add(&o->programs, optarg);
	case OPT_AWAIT:
		o->await = true;
		return 0;
	case 'C':
		return add_cpu_list(o, e);
	}
	return -ENOENT;
}

static int handle_data_option(int option, struct pass *p, struct err_text *e)
{
	struct record_options *o = &p->o;

	switch (option) {
	case OPT_WORD:
	case 'e':
		return add_word(p, optarg);
	case 'P':
		return arg_list_add(&o->presets, optarg) ? -ENOMEM : add_word(p, optarg);
	case OPT_FILTER:
		return add_word_filter(p, e);
	case OPT_TRIGGER:
		return add_word_trigger(p, e);
	case OPT_SYSCALLS:
		return arg_list_add(&o->syscalls, optarg);
	case OPT_STRACE:
		o->strace = true;
		return optarg ? arg_list_add(&o->straced, optarg) : 0;
	case OPT_KPROBE:
	case OPT_KRETPROBE:
	case OPT_KPROBE_SPAN:
		if (array_reserve(&o->kprobes, &o->cap_kprobes, o->n_kprobes + 1,
				  sizeof(*o->kprobes)))
			return -ENOMEM;
		o->kprobes[o->n_kprobes++] = (struct kprobe_option){
			optarg, USER_PROBE_CALL + (unsigned)(option - OPT_KPROBE)};
		return 0;
	case OPT_UPROBE:
	case OPT_URETPROBE:
	case OPT_UPROBE_SPAN:
	case OPT_USDT:
		if (array_reserve(&o->uprobes, &o->cap_uprobes, o->n_uprobes + 1,
				  sizeof(*o->uprobes)))
			return -ENOMEM;
		o->uprobes[o->n_uprobes++] = (struct uprobe_option){
			optarg, USER_PROBE_CALL + (unsigned)(option - OPT_UPROBE)};
		return 0;
	case OPT_GRAPH:
		o->function_graph = true;
		return optarg ? arg_list_add(&o->graph_roots, optarg) : 0;
	case OPT_GRAPH_FILTER:
		return arg_list_add(&o->graph_filters, optarg);
	case OPT_GRAPH_DEPTH:
		return option_parse_number("--function-depth", optarg, &o->graph_depth, e);
	case OPT_KSYMS:
		o->ksyms = true;
		return 0;
	case OPT_STACKS:
		o->stack_hz = DEFAULT_STACK_HZ;
		return optarg ? option_parse_number("--cpu-stacks", optarg, &o->stack_hz, e) : 0;
	case OPT_WAITS:
		return arg_list_add(&o->waits, optarg);
	case OPT_HIST:
		return arg_list_add(&o->histograms, optarg);
	case 'F':
		return option_parse_number("-F", optarg, &o->stack_hz, e);
	case 'g':
		o->stack_hz = o->stack_hz ? o->stack_hz : DEFAULT_STACK_HZ;
		return 0;
	}
	return -ENOENT;
}

static int handle_buffer_option(int option, struct record_options *o, struct err_text *e)
{
	switch (option) {
	case 't':
		return option_parse_duration("-t", optarg, &o->duration_ms, e);
	case 'b':
		return option_parse_size("-b", optarg, &o->buffer_kb, e);
	case 'B':
		return option_parse_size("-B", optarg, &o->ring_kb, e);
	case OPT_SUBBUF:
		return option_parse_size("--subbuf", optarg, &o->subbuf_kb, e);
	case OPT_CLOCK:
		o->has_clock = true;
		o->mono_raw_clock = !strcmp(optarg, "mono_raw");
		return o->mono_raw_clock || !strcmp(optarg, "boot")
			       ? 0
			       : err_set(e, -EINVAL,
					 "--clock %.80s is not supported; use boot or mono_raw",
					 optarg);
	case OPT_NO_PRIORITY:
		o->no_priority = true;
		return 0;
	case OPT_ALL_MACHINES:
		o->all_machines = true;
		return 0;
	case OPT_HOST:
		return arg_list_add(&o->hosts, optarg);
	case OPT_SUDO:
		o->sudo = true;
		return 0;
	case OPT_MAX_SIZE:
		return option_parse_file_size("--max-size", optarg, &o->max_bytes, e);
	}
	return -ENOENT;
}

static int handle_record_option(int option, struct pass *p, struct err_text *e)
{
	struct record_options *o = &p->o;
	int r;

	switch (option) {
	case 'a':
		o->all = true;
		return 0;
	case 'c':
		if (o->config)
			return err_set(e, -EINVAL, "only one -c can be given");
		o->config = optarg;
		return *optarg ? 0 : err_set(e, -EINVAL, "-c needs a file name");
	case 'o':
		o->output = optarg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_COLOR:
		o->color = optarg;
		return option_check_color("--color", optarg, e);
	case OPT_APP:
		if (!optarg[strspn(optarg, ", ")])
			return err_set(e, -EINVAL, "--app needs categories; example: 'net*,disk'");
		return arg_list_add(&o->apps, optarg);
	case OPT_TXT:
		o->config_is_text = true;
		return 0;
	case OPT_SOCKET:
		o->socket = optarg;
		return option_check_socket(optarg, e);
	case OPT_STRICT:
		o->strict = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_EXIT_CODE:
		o->exit_code = true;
		return 0;
	case OPT_DETACH:
		o->detach = optarg;
		return 0;
	case OPT_SHOW_CONFIG:
		o->show_config = true;
		o->show_binary = optarg && !strcmp(optarg, "binary");
		return !optarg || o->show_binary || !strcmp(optarg, "text")
			       ? 0
			       : err_set(e, -EINVAL, "--show-config=%.80s: use text or binary",
					 optarg);
	}
	if (option == OPT_WORD && p->after_stacks && !optarg[strspn(optarg, "0123456789")])
		return err_set(e, -EINVAL,
			       "'--cpu-stacks %.20s' needs an equals sign: --cpu-stacks=%.20s",
			       optarg, optarg);
	p->after_stacks = option == OPT_STACKS && !optarg;
	r = handle_data_option(option, p, e);
	if (r == -ENOENT)
		r = handle_scope_option(option, o, e);
	if (r == -ENOENT)
		r = handle_buffer_option(option, o, e);
	/* Filters do not apply to options that create events. */
	if (option >= OPT_SYSCALLS && option <= OPT_GRAPH)
		p->after_word = false;
	return r;
}

/* ---- all options ---- */

const char *record_options_first_ring_option(const struct record_options *o)
{
	if (o->ring_kb)
		return "-B";
	if (o->subbuf_kb)
		return "--subbuf";
	if (o->has_clock)
		return "--clock";
	return o->has_cpus ? "-C" : NULL;
}

/* Returns the name of the first option for a subject that is given; there is one. */
static const char *subject_option(const struct record_options *o)
{
	return o->units.n	 ? "unit"
	       : o->containers.n ? "container"
	       : o->pods.n	 ? "pod"
	       : o->cgroups.n	 ? "cgroup"
				 : "program";
}

/* Checks that options fit each other. */
static int record_options_check(const struct record_options *o, struct err_text *e)
{
	bool to_stdout = o->output && !strcmp(o->output, "-");

	/* The command and the summary. */
	if (o->command && !o->command[0])
		return err_set(e, -EINVAL, "no command after --");
	if (o->command && to_stdout)
		return err_set(e, -EINVAL,
			       "-o -: the trace and the output of '%.80s' would both go to "
			       "standard output",
			       o->command[0]);
	if (o->exit_code && !o->command)
		return err_set(e, -EINVAL, "--exit-code requires a command");
	if (o->json && to_stdout)
		return err_set(e, -EINVAL,
			       "--json and the trace (-o -) cannot both go to standard output");
	/* The file. */
	if (o->output && !*o->output)
		return err_set(e, -EINVAL, "-o needs a file name");
	if (o->output && o->config && trace_input_is_output(o->config, o->output))
		return err_set(e, -EINVAL, "-o '%.80s' is the config file; choose another name",
			       o->output);
	if (o->max_bytes && !o->config && !record_options_want_streaming(o))
		return err_set(e, -EINVAL,
			       "--max-size cannot be combined with %s: the size of the buffer "
			       "limits the trace",
			       o->detach ? "--detach" : "-b");
	/* A session that continues without us. */
	if (o->detach && !*o->detach)
		return err_set(e, -EINVAL, "--detach needs a name");
	if (o->detach && o->command)
		return err_set(e, -EINVAL, "--detach cannot be combined with a command");
	/* Other machines. */
	if (o->sudo && !o->hosts.n)
		return err_set(e, -EINVAL, "--sudo requires --host");
	if (o->hosts.n && o->detach)
		return err_set(e, -EINVAL, "--detach cannot be combined with --host");
	if (o->hosts.n > 1 && (o->json || o->show_config))
		return err_set(e, -EINVAL, "%s requires a single --host",
			       o->json ? "--json" : "--show-config");
	/* What is recorded. */
	if (o->config_is_text && !o->config)
		return err_set(e, -EINVAL, "--txt needs -c");
	if (o->all && o->pids.n)
		return err_set(e, -EINVAL, "-a and -p cannot be combined");
	if (record_options_name_a_subject(o) && (o->all || o->pids.n))
		return err_set(e, -EINVAL, "%s cannot be combined with --%s", o->all ? "-a" : "-p",
			       subject_option(o));
	if (o->programs.n && (o->units.n || o->containers.n || o->pods.n || o->cgroups.n))
		return err_set(e, -EINVAL, "--program cannot be combined with --%s",
			       subject_option(o));
	if (o->await && !record_options_name_a_subject(o))
		return err_set(
			e, -EINVAL,
			"--await requires --unit, --container, --pod, --cgroup or --program");
	for (size_t i = 0; i < o->pods.n; i++)
		if (!strchr(o->pods.args[i], '/'))
			return err_set(e, -EINVAL, "--pod %.80s: expected NAMESPACE/NAME",
				       o->pods.args[i]);
	if (!o->function_graph && (o->graph_filters.n || o->graph_depth))
		return err_set(e, -EINVAL, "--function-%s requires --function-graph",
			       o->graph_depth ? "depth" : "filter");
	if (!o->config && !record_options_name_something(o))
		return err_set(
			e, -EINVAL,
			"nothing to record: name presets or events (sched, off-cpu, 'irq:*'; "
			"see sonda list presets), or a config (-c)");
	return record_hosts_check(o->hosts.args, o->hosts.n, e);
}

/* Refuses an option that does not exist. After the name of a program it is probably one of the
 * command's: "sonda record sched make -j4". */
static int refuse_option(int option, const char *typed, const struct pass *p, struct err_text *e)
{
	char path[PATH_MAX];
	struct err_text why;
	int r = option_refuse(option, typed, short_options, long_options, &why);

	if (option == ':' || !p->last_word || program_find(p->last_word, path, sizeof(path)))
		return err_set(e, r, "%s", why.text);
	return err_set(e, r,
		       "%s; put a command after --, as in: sonda record EVENT... -- %.80s ...",
		       why.text, p->last_word);
}

static int record_options_read_all(int argc, char **argv, struct pass *p, struct err_text *e)
{
	const char *last_value = NULL;
	int option, r = 0;

	opterr = 0;
	optind = 0; /* restart the scan; getopt_long may have run before */
	while (!r && (option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (option == 'h') {
			p->o.help = true;
			return 0;
		}
		last_value = optarg;
		if (option == ':' || option == '?')
			return refuse_option(option, argv[optind - 1], p, e);
		r = option_refuse_swallowed(argv + optind, optarg, short_options, long_options, e);
		if (!r)
			r = handle_record_option(option, p, e);
		p->last_word = option == OPT_WORD ? optarg : NULL;
	}
	/* Everything after "--" is the command. */
	if (optind < argc ||
	    (argc > 1 && argv[argc - 1] != last_value && !strcmp(argv[argc - 1], "--")))
		p->o.command = argv + optind;
	return r ? r : record_options_check(&p->o, e);
}

int record_options_parse(int argc, char **argv, struct record_options *ret, struct err_text *e)
{
	struct pass p = {0};
	int r = record_options_read_all(argc, argv, &p, e);
	bool help = p.o.help;

	if (r || help)
		record_options_deinit(&p.o);
	p.o.help = help;
	if (!r)
		*ret = p.o;
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/probes/probe_lines.h"
#include "cli/record/option_values.h"

/*
 * The parsed command line of `sonda record`. Strings are borrowed from argv, arrays are owned.
 */

/* Arguments of an option that may be given several times. */
struct arg_list {
	const char **args; /* owned array */
	size_t n;
	size_t cap;
};
/* Returns 0 or -ENOMEM. */
int arg_list_add(struct arg_list *l, const char *arg);

/* --filter and --trigger, for the event before them. */
struct word_filter {
	size_t word; /* index into words */
	const char *expr;
};

struct word_trigger {
	size_t word;
	struct trigger trigger;
};

/* --kprobe, --kretprobe and --kprobe-span */
struct kprobe_option {
	const char *probe; /* a function, one with arguments, or a line of kprobe_events */
	enum user_probe_kind kind;
};

/* --uprobe, --uretprobe, --uprobe-span and --usdt */
struct uprobe_option {
	const char *probe; /* cli/probes/user_probes.h */
	enum user_probe_kind kind;
};

#define DEFAULT_STACK_HZ 99 /* not in step with timers of programs, which have round frequencies */

/* The command line of sonda record. Texts and command are borrowed from argv; the other lists and
 * arrays are owned. */
struct record_options {
	bool help; /* help was requested; nothing else is set then */

	/* A config file. The other options are added to it, and override it. */
	const char *config; /* path, or "-" for stdin; NULL: none */
	bool config_is_text; /* --txt: the config is read as text, without detecting its format */

	/* What is recorded. */
	struct arg_list words; /* as typed; cli/terminal/event_patterns.h */
	struct arg_list presets; /* the words that -P gave, each a list with commas */
	struct word_filter *filters;
	size_t n_filters, cap_filters;
	struct word_trigger *triggers;
	size_t n_triggers, cap_triggers;
	struct arg_list syscalls; /* each a list with commas */
	struct kprobe_option *kprobes;
	size_t n_kprobes, cap_kprobes;
	struct uprobe_option *uprobes;
	size_t n_uprobes, cap_uprobes;
	bool function_graph;
	struct arg_list graph_roots; /* only calls below these functions are recorded; none: all */
	struct arg_list graph_filters; /* functions to record; none: all */
	uint32_t graph_depth; /* 0: without limit */
	bool ksyms;
	uint32_t stack_hz; /* call stacks per second on each CPU; 0: none */
	struct arg_list waits; /* --waits: which waits */
	struct arg_list histograms; /* cli/record/hist_option.h */
	bool strace; /* system calls with their strings */
	struct arg_list straced; /* only these calls, each a list with commas; none: all */
	struct arg_list apps; /* categories of track events, each a list of patterns with commas */

	/* Which processes and CPUs are recorded. */
	struct pid_list pids; /* none: all processes, or the command */
	struct arg_list units, containers, pods, cgroups, programs; /* names: only their events */
	bool await; /* these may not exist yet */
	bool all; /* all processes, even with a command */
	bool has_cpus;
	struct cpu_list cpus;

	/* How long, and in which buffers. */
	uint32_t duration_ms; /* 0: until the command's end or Ctrl-C */
	uint32_t buffer_kb; /* central ring buffer; 0: the trace streams into its file */
	uint64_t max_bytes; /* limit of a streamed file; 0: until its file system is full */
	uint32_t ring_kb; /* kernel ring of each CPU; 0: the producer's choice */
	uint32_t subbuf_kb; /* sub-buffer of a ring; 0: the producer's choice */
	bool has_clock;
	bool mono_raw_clock;

	bool show_config; /* print the config, and record nothing */
	bool show_binary; /* serialized, not as text */
	char **command; /* ends with NULL; NULL: there is none */
	struct arg_list hosts; /* other machines that are recorded, for ssh; none: this one */
	bool sudo; /* run sonda with sudo on the other machines */
	const char *output; /* path, "-" for stdout; NULL: a name with host and time */
	const char *socket; /* of a running service; NULL: the default addresses */
	const char
		*detach; /* the session continues without us, under this name; NULL: it does not */
	bool strict;
	bool json; /* the summary, on standard output */
	bool no_priority; /* do not raise the priority of the daemons */
	bool all_machines; /* also record the machines that are connected to the service */
	bool exit_code; /* exit with the command's exit code */
	bool quiet;
	bool verbose;
	const char *color; /* --color: always, never or auto; NULL: auto */
};

/* Returns true if events of the kernel are named. */
static inline bool record_options_name_kernel_events(const struct record_options *o)
{
	return o->words.n || o->syscalls.n || o->n_kprobes || o->n_uprobes || o->function_graph;
}

/* Returns true if the command line names anything to record, apart from the config. */
static inline bool record_options_name_something(const struct record_options *o)
{
	return record_options_name_kernel_events(o) || o->apps.n || o->stack_hz || o->strace ||
	       o->histograms.n;
}

/* Returns the first given option for the kernel's rings, or NULL. */
const char *record_options_first_ring_option(const struct record_options *o);

/* Returns true if the recording is of units, containers, pods, control groups or programs. */
static inline bool record_options_name_a_subject(const struct record_options *o)
{
	return o->units.n || o->containers.n || o->pods.n || o->cgroups.n || o->programs.n;
}

extern const char record_usage[];

/* Returns 0 (the caller frees with record_options_deinit), -EINVAL and sets e, or -ENOMEM. */
int record_options_parse(int argc, char **argv, struct record_options *ret, struct err_text *e);
void record_options_deinit(struct record_options *o);

/* Returns true if the trace is streamed to its file during the recording. Otherwise the service
 * keeps the trace until the end, or the config decides. */
static inline bool record_options_want_streaming(const struct record_options *o)
{
	return !o->config && !o->detach && !o->buffer_kb;
}

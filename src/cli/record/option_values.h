/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "config/ftrace/ftrace_config.pb-c.h"

/*
 * Parsers for option values of `sonda record`. option is the user's spelling ("-t", "--filter"),
 * for the message in e. Each function returns 0, or -EINVAL and sets e.
 */

/* Parses "10", "500ms", "2m": at most the longest duration of a session. */
int option_parse_duration(const char *option, const char *text, uint32_t *ret_ms,
			  struct err_text *e);

/* Parses "64mb", "512k", with a unit: more than 0, less than 4 GiB. */
int option_parse_size(const char *option, const char *text, uint32_t *ret_kb, struct err_text *e);
/* Like option_parse_size(), for a file: less than 4 TiB. */
int option_parse_file_size(const char *option, const char *text, uint64_t *ret_bytes,
			   struct err_text *e);

/* Parses a number above 0. */
int option_parse_number(const char *option, const char *text, uint32_t *ret, struct err_text *e);

/* Processes, each once. Zero-initialise; free pids. */
#define PID_LIST_MAX 4096
struct pid_list {
	uint32_t *pids; /* owned; each once */
	size_t n;
	size_t cap;
};
/* Adds processes to the list: "1234", "1,2,3", or names of programs. Returns 0, -EINVAL and sets e,
 * or -ENOMEM. */
int option_parse_pids(const char *option, const char *text, struct pid_list *l, struct err_text *e);

/* "stacktrace", "traceoff:1", "traceon if ret < 0": ACTION[:COUNT][ if FILTER]. */
struct trigger {
	Pb__FtraceConfig__EventTrigger__Action action;
	uint32_t count; /* 0: without limit */
	const char *filter; /* borrowed from the text; NULL: none */
};
int option_parse_trigger(const char *option, const char *text, struct trigger *ret,
			 struct err_text *e);

/* CPUs by number, as users and the kernel list them ("0,2-5"), and as the kernel's masks. */

#define CPU_LIST_MAX 8192 /* CPUs; the most that Linux can be built for */

struct cpu_list {
	uint32_t words[CPU_LIST_MAX / 32]; /* bit c % 32 of word c / 32 */
};

/* Adds the CPUs of text. Returns 0, -EINVAL (not a list: "", "1-", "3-1", "a") or -ERANGE (number
 * too large); on failure some may have been added. */
int cpu_list_add(struct cpu_list *l, const char *text);

/* Checks that this machine has all CPUs of l. sys_root: mount point of sysfs. Returns 0, or -ENXIO
 * and sets e. Returns 0, too, if sysfs does not list the CPUs. */
int cpu_list_check(const struct cpu_list *l, const char *sys_root, struct err_text *e);

/* Appends the mask in the format of tracing_cpumask: words of 32 bits in hex with commas between,
 * the highest CPUs first: "3d", "1,00000000". */
void cpu_list_put_mask(const struct cpu_list *l, struct strbuf *b);
/* Lists the CPUs in *ret_cpus, which the caller frees. Returns 0 or -ENOMEM. */
int cpu_list_get_numbers(const struct cpu_list *l, uint32_t **ret_cpus, size_t *ret_n);

/* Lists the current threads of the processes in *ret_tids, which the caller frees. proc_root: mount
 * point of procfs. Returns 0; -ESRCH (a process does not exist) or -errno of reading, and sets e;
 * or -ENOMEM. */
int pid_list_read_threads(const char *proc_root, const struct pid_list *pids, uint32_t **ret_tids,
			  size_t *ret_n, struct err_text *e);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "config/ftrace/ftrace_config.pb-c.h"

/*
 * Values of options of `sonda record`. option is how the person wrote it ("-t", "--filter"), for
 * the sentence in e that comes with -EINVAL.
 */

/* "10", "500ms", "2m": at most as long as a session may last. */
int option_time(const char *option, const char *text, uint32_t *ret_ms, struct err_text *e);

/* "64mb", "512k", "512": more than 0, less than 4 GiB. */
int option_size(const char *option, const char *text, uint32_t *ret_kb, struct err_text *e);
/* The same of a file: less than 4 TiB. */
int option_file_size(const char *option, const char *text, uint64_t *ret_bytes, struct err_text *e);

/* A number above 0. */
int option_number(const char *option, const char *text, uint32_t *ret, struct err_text *e);

/* Processes by number: "1234" or "1,2,3". Zero-initialise; free pids. */
#define PID_LIST_MAX 4096
struct pid_list {
	uint32_t *pids; /* owned; each once */
	size_t n;
	size_t cap;
};
/* Adds to the list; -EINVAL, or -ENOMEM. */
int option_pids(const char *option, const char *text, struct pid_list *l, struct err_text *e);

/* "stacktrace", "traceoff:1", "traceon if ret < 0": ACTION[:COUNT][ if FILTER]. */
struct trigger {
	Pb__FtraceConfig__EventTrigger__Action action;
	uint32_t count; /* 0: without limit */
	const char *filter; /* borrowed from the text; NULL: none */
};
int option_trigger(const char *option, const char *text, struct trigger *ret, struct err_text *e);

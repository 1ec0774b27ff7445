/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_event_pid takes numbers separated by spaces. An open with O_TRUNC empties the list. Each
 * write(2) adds to it and costs the kernel an RCU grace period, so the writes are large.
 *
 * Threads of a process are created while its list is read and written. Once event-fork is on, the
 * kernel adds the children of listed threads and removes threads that end. So the list is complete
 * when a scan of /proc finds no thread that the list lacks both before and after the scan; until
 * then missing threads are added and the scan is repeated.
 */
#include "ftrace/options/pid_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/pid_set.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "base/text/str.h"

#define WRITE_BYTES 32768
#define NAMED_MAX 20 /* nonexistent threads that are reported by id; the others are counted */
#define SCANS_MAX 100 /* usually 2 or 3 are enough */

bool pid_filter_is_requested(const Pb__FtraceConfig *config)
{
	return config->n_tids_to_trace || config->n_pids_to_trace;
}

bool pid_filter_follows_children(const Pb__FtraceConfig *config)
{
	return config->n_pids_to_trace || (config->n_tids_to_trace && config->follow_children);
}

/* Returns the number above the largest possible thread id of this machine. */
static uint32_t read_tid_end(const char *proc_root)
{
	struct strbuf text = {0};
	uint32_t end = 0;
	char path[256];

	snprintf(path, sizeof(path), "%s/sys/kernel/pid_max", proc_root);
	if (!fs_read_file(path, 64, &text) && text.s) {
		text.s[strcspn(text.s, "\n")] = '\0';
		if (str_to_u32(text.s, &end))
			end = 0;
	}
	strbuf_deinit(&text);
	return end ? MIN(end, PID_LIMIT) : PID_LIMIT;
}

static bool thread_exists(const char *proc_root, uint32_t tid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%" PRIu32, proc_root, tid);
	return fs_exists(path);
}

/* ---- threads of the config ---- */

struct named {
	const char *field;
	const char *noun;
	const uint32_t *numbers;
	size_t n;
	bool may_be_gone; /* it is not reported if it has ended */
};

/* Appends the valid ids to ret_list. Reports the others, and valid ids that do not exist. */
static void append_valid_ids(const struct named *l, const char *proc_root,
			     struct setup_errors *errors, struct strbuf *ret_list)
{
	uint32_t end = read_tid_end(proc_root), gone = 0;

	for (size_t i = 0; i < l->n; i++) {
		uint32_t tid = l->numbers[i];

		if (tid == 0 || tid >= end) {
			setup_error_add(errors,
					"option:%s (%" PRIu32
					" is not a valid %s ID: the range is 1 to %" PRIu32 ")",
					l->field, tid, l->noun, end - 1);
			continue;
		}
		strbuf_printf(ret_list, "%" PRIu32 " ", tid);
		if (!l->may_be_gone && !thread_exists(proc_root, tid) && ++gone <= NAMED_MAX)
			setup_error_add(errors,
					"option:%s (%" PRIu32
					": no such %s when the recording was set up)",
					l->field, tid, l->noun);
	}
	if (gone > NAMED_MAX)
		setup_error_add(errors,
				"option:%s (%" PRIu32
				" more: no such %s when the recording was set up)",
				l->field, gone - NAMED_MAX, l->noun);
}

/* Lists the ids of the config. A process is represented by its first thread; the others are added
 * later. So the list is never empty, which would mean all threads. */
static void list_config_ids(const struct setup *s, const char *proc_root,
			    struct setup_errors *errors, struct strbuf *ret_list)
{
	const Pb__FtraceConfig *c = s->config;
	bool has_groups = subject_has_groups(s->subject); /* they change meanwhile */
	const struct named tids = {"tids_to_trace", "thread", c->tids_to_trace, c->n_tids_to_trace,
				   has_groups || c->n_pids_to_trace};
	const struct named pids = {"pids_to_trace", "process", c->pids_to_trace, c->n_pids_to_trace,
				   has_groups};

	append_valid_ids(&tids, proc_root, errors, ret_list);
	append_valid_ids(&pids, proc_root, errors, ret_list);
}

/* Writes a list of ids, without splitting a number between two writes. how: O_TRUNC or O_APPEND. */
static int pid_filter_write_list(const struct instance *i, const char *file,
				 const struct strbuf *list, int how)
{
	const char *p = list->s, *end = list->s + list->len;
	_cleanup_(closep) int fd = instance_open(i, file, O_WRONLY | how);
	int r = fd < 0 ? fd : 0;

	while (!r && p < end) {
		size_t n = MIN((size_t)(end - p), (size_t)WRITE_BYTES);

		while (p[n - 1] != ' ')
			n--;
		r = fs_write_all(fd, p, n);
		p += n;
	}
	return r;
}

/* ---- threads of processes ---- */

static int pid_filter_add_thread(void *ctx, const char *name, unsigned char d_type)
{
	uint32_t tid;

	if (!str_to_u32(name, &tid))
		(void)pid_set_add(ctx, (int32_t)tid);
	return 0;
}

/* Adds the threads that the kernel's list has now. */
static void add_listed_threads(const struct instance *i, const char *file, struct pid_set *to)
{
	_cleanup_(freep) char *text = instance_read(i, file);
	const char *at = text;
	uint64_t tid;

	while (at && !str_read_u64(&at, 10, &tid))
		(void)pid_set_add(to, (int32_t)tid);
}

/* Appends to ret the threads in `all` that are not in `listed`, except those that have ended.
 * Returns true if any thread is not in `listed`, even if it has ended. */
static bool list_missing_threads(const struct pid_set *all, const struct pid_set *listed,
				 const char *proc_root, struct strbuf *ret)
{
	bool found = false;

	for (int32_t tid = 0; (tid = pid_set_next(all, tid));) {
		if (pid_set_has(listed, tid))
			continue;
		if (thread_exists(proc_root, (uint32_t)tid))
			strbuf_printf(ret, "%" PRId32 " ", tid);
		found = true;
	}
	return found;
}

/* Adds the threads of the session's groups. Looks again for groups that did not exist at the start.
 * Returns 0 or -ENOMEM. */
static int add_group_threads(const struct setup *s, struct pid_set *to)
{
	struct subject now = {0};
	struct err_text e;
	int r;

	if (!s->groups || !s->groups->n_awaited)
		return s->groups ? subject_add_threads(s->groups, to) : 0;
	r = subject_find_groups(s->subject, s->sys_root, &now, &e);
	if (!r)
		r = subject_add_threads(&now, to);
	subject_deinit(&now);
	return r == -ENOMEM ? r : 0;
}

/* Adds the missing threads. Returns 0 or -errno; *ret_done: none was missing. */
static int add_missing_threads(const struct setup *s, const char *proc_root, const char *file,
			       bool *ret_done)
{
	_cleanup_(pid_set_clear) struct pid_set threads = {0}, listed = {0};
	const Pb__FtraceConfig *c = s->config;
	struct strbuf list = {0};
	char path[256];
	int r = 0;

	if (pid_set_reserve(&threads) || pid_set_reserve(&listed))
		return -ENOMEM;
	add_listed_threads(s->instance, file, &listed);
	for (size_t i = 0; i < c->n_pids_to_trace; i++) {
		snprintf(path, sizeof(path), "%s/%" PRIu32 "/task", proc_root, c->pids_to_trace[i]);
		fs_each(path, pid_filter_add_thread, &threads);
	}
	if (add_group_threads(s, &threads) < 0)
		return -ENOMEM;
	add_listed_threads(s->instance, file, &listed);
	*ret_done = !list_missing_threads(&threads, &listed, proc_root, &list);
	if (list.failed)
		r = -ENOMEM;
	else if (list.len)
		r = pid_filter_write_list(s->instance, file, &list, O_APPEND);
	strbuf_deinit(&list);
	return r;
}

static int add_processes(const struct setup *s, const char *proc_root, const char *file)
{
	bool done = !s->config->n_pids_to_trace && !s->groups;
	int r = 0;

	for (unsigned n = 0; !r && !done; n++) {
		if (n == SCANS_MAX) {
			setup_error_add(s->errors,
					"option:pids_to_trace (%s: threads start faster than they "
					"can be listed; some are missing)",
					file);
			return 0;
		}
		r = add_missing_threads(s, proc_root, file, &done);
	}
	return r;
}

/* ---- the lists of the kernel ---- */

static const struct list {
	const char *file;
	/* the option that adds children when they are created and removes threads that end */
	const char *fork;
} of_events = {"set_event_pid", "options/event-fork"},
  of_functions = {"set_ftrace_pid", "options/function-fork"};

/* Writes the list of threads. Sets l->fork before, so that children are added from the moment their
 * parent is listed. */
static int set_thread_list(const struct setup *s, const char *proc_root, const struct strbuf *tids,
			   const struct list *l)
{
	int r = 0, error;

	if (pid_filter_follows_children(s->config))
		r = instance_write(s->instance, l->fork, "1");
	if (r)
		setup_error_add(s->errors, "option:follow_children (%s)",
				r == -ENOENT ? "not supported by this kernel" : strerror(-r));
	error = pid_filter_write_list(s->instance, l->file, tids, O_TRUNC);
	return error ? error : add_processes(s, proc_root, l->file);
}

static int report_refused_list(const struct setup *s, int error, const char *file)
{
	setup_error_set_fatal(s->errors,
			      "nothing is recorded: the kernel rejected tids_to_trace (%s: %s)",
			      file, strerror(-error));
	return error;
}

static int set_thread_lists(const struct setup *s, const char *proc_root, const struct strbuf *tids)
{
	/* A kernel without the tracer has the file but refuses writes. */
	bool functions = s->config->enable_function_graph &&
			 instance_has_tracer(s->instance, "function_graph");
	int r;

	if (!tids->len) {
		setup_error_set_fatal(s->errors, "nothing is recorded: %s contains no valid %s ID",
				      s->config->n_pids_to_trace ? "pids_to_trace"
								 : "tids_to_trace",
				      s->config->n_pids_to_trace ? "process" : "thread");
		return -EINVAL;
	}
	r = set_thread_list(s, proc_root, tids, &of_events);
	if (r)
		return report_refused_list(s, r, of_events.file);
	r = functions ? set_thread_list(s, proc_root, tids, &of_functions) : 0;
	return r ? report_refused_list(s, r, of_functions.file) : 0;
}

int pid_filter_set(const struct setup *s, const char *proc_root)
{
	struct strbuf list = {0};
	int r;

	if (!pid_filter_is_requested(s->config)) {
		if (s->config->follow_children)
			setup_error_add(
				s->errors,
				"option:follow_children (requires tids_to_trace or pids_to_trace)");
		return 0;
	}
	list_config_ids(s, proc_root, s->errors, &list);
	r = list.failed ? -ENOMEM : set_thread_lists(s, proc_root, &list);
	strbuf_deinit(&list);
	return r;
}

void pid_filter_add_listed(const struct instance *i, struct pid_set *to)
{
	add_listed_threads(i, of_events.file, to);
}

int pid_filter_set_functions(const struct setup *s)
{
	struct setup_errors repr = {0};
	struct setup quiet = *s;
	struct strbuf list = {0};
	int r;

	if (!pid_filter_is_requested(s->config))
		return 0;
	quiet.errors = &repr;
	list_config_ids(s, s->proc_root, &repr, &list);
	r = list.failed ? -ENOMEM : 0;
	if (!r && list.len)
		r = set_thread_list(&quiet, s->proc_root, &list, &of_functions);
	setup_errors_deinit(&repr);
	strbuf_deinit(&list);
	return r;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * set_event_pid takes numbers with blanks between them; each write(2) adds to what the file holds
 * since it was opened for truncation, and costs the kernel a grace period, so it gets large ones.
 */
#include "ftrace/traced_tids.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "ftrace/function_graph.h"

#define PID_MAX_LIMIT (1u << 22) /* no kernel has more */
#define WRITE_BYTES 32768
#define TOLD_MAX 20 /* that are not there; the others are told as a number */

/* Above the largest number that a thread can have on this machine. */
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
	return end ? MIN(end, PID_MAX_LIMIT) : PID_MAX_LIMIT;
}

static bool is_there(const char *proc_root, uint32_t tid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%" PRIu32, proc_root, tid);
	return fs_exists(path);
}

/* The numbers that can be threads, as the kernel reads them. */
static void check(const struct setup *s, const char *proc_root, struct strbuf *ret_list)
{
	uint32_t end = read_tid_end(proc_root), gone = 0;

	for (size_t i = 0; i < s->config->n_tids_to_trace; i++) {
		uint32_t tid = s->config->tids_to_trace[i];

		if (tid == 0 || tid >= end) {
			report_failed(s->reports,
				      "option:tids_to_trace (%" PRIu32
				      " is no thread: they are 1 to %" PRIu32 " here)",
				      tid, end - 1);
			continue;
		}
		strbuf_printf(ret_list, "%" PRIu32 " ", tid);
		if (!is_there(proc_root, tid) && ++gone <= TOLD_MAX)
			report_failed(s->reports,
				      "option:tids_to_trace (%" PRIu32
				      ": no such thread when the recording was set up)",
				      tid);
	}
	if (gone > TOLD_MAX)
		report_failed(s->reports,
			      "option:tids_to_trace (%" PRIu32
			      " more: no such thread when the recording was set up)",
			      gone - TOLD_MAX);
}

/* No number is cut in two. */
static int write_list(const struct instance *i, const char *file, const struct strbuf *list)
{
	const char *p = list->s, *end = list->s + list->len;
	_cleanup_(closep) int fd = instance_open(i, file, O_WRONLY | O_TRUNC);
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

/* Children of these threads are added as they are born, and threads leave as they end. */
static int follow(const struct setup *s, bool functions)
{
	int r = instance_write(s->instance, "options/event-fork", "1");

	if (!r && functions)
		r = instance_write(s->instance, "options/function-fork", "1");
	if (r)
		report_failed(s->reports, "option:follow_children (%s)",
			      r == -ENOENT ? "the kernel does not have it" : strerror(-r));
	return 0;
}

static int fail(const struct setup *s, int error, const char *file)
{
	report_problem(s->reports,
		       "nothing is recorded: the kernel does not take tids_to_trace (%s: %s)", file,
		       strerror(-error));
	return error;
}

int traced_tids_set(const struct setup *s, const char *proc_root)
{
	/* A kernel without that tracer has the file, and takes nothing. */
	bool functions = s->config->enable_function_graph && function_graph_is_offered(s->instance);
	struct strbuf list = {0};
	int r = 0;

	if (!s->config->n_tids_to_trace) {
		if (s->config->follow_children)
			report_failed(s->reports,
				      "option:follow_children (there are no tids_to_trace)");
		return 0;
	}
	check(s, proc_root, &list);
	if (list.failed) {
		r = -ENOMEM;
	} else if (!list.len) {
		report_problem(s->reports,
			       "nothing is recorded: none of tids_to_trace can be a thread");
		r = -EINVAL;
	} else {
		r = write_list(s->instance, "set_event_pid", &list);
		if (r)
			fail(s, r, "set_event_pid");
		else if (functions && (r = write_list(s->instance, "set_ftrace_pid", &list)))
			fail(s, r, "set_ftrace_pid");
	}
	strbuf_deinit(&list);
	if (!r && s->config->follow_children)
		r = follow(s, functions);
	return r;
}

int traced_tids_set_functions(const struct setup *s)
{
	struct reports told = {0};
	struct setup quiet = *s;
	struct strbuf list = {0};
	int r = 0;

	quiet.reports = &told;
	check(&quiet, s->proc_root, &list);
	reports_deinit(&told);
	if (list.failed)
		r = -ENOMEM;
	else if (list.len)
		r = write_list(s->instance, "set_ftrace_pid", &list);
	if (!r && list.len && s->config->follow_children)
		r = instance_write(s->instance, "options/function-fork", "1");
	strbuf_deinit(&list);
	return r;
}

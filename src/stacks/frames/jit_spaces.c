/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/jit_spaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/process_uuid.h"
#include "base/system/outside_reads.h"

#define STATUS_MAX 8192

void jit_spaces_deinit(struct jit_spaces *j)
{
	freep(&j->items);
	*j = (struct jit_spaces){0};
}

uint32_t jit_spaces_add(struct jit_spaces *j, int32_t pid)
{
	if (j->n >= JIT_SPACES_MAX ||
	    array_reserve(&j->items, &j->cap, j->n + 1, sizeof(*j->items)) < 0)
		return 0;
	j->items[j->n] = (struct jit_space){.pid = pid};
	return (uint32_t)++j->n;
}

bool jit_space_is_request_due(const struct jit_space *s, bool at_end)
{
	return s->is_used && (!s->requested || at_end || s->process.has_ended ||
			      clock_boot_ns() - s->requested >= s->pause);
}

void jit_space_set_requested(struct jit_space *s)
{
	s->requested = clock_boot_ns();
	s->pause = MIN(s->pause ? 2 * s->pause : JIT_SPACE_FIRST_NS, JIT_SPACE_REQUEST_NS);
	s->is_used = false;
}

void jit_space_end(struct jit_space *s)
{
	s->process.has_ended = s->is_used = true;
}

/* Returns what follows the key in its line of status; NULL: it has no such line. */
static const char *status_value(const char *status, const char *key)
{
	char line[32];
	const char *at;

	snprintf(line, sizeof(line), "\n%s:\t", key); /* a name has no newline there */
	at = strstr(status, line);
	return at ? at + strlen(line) : NULL;
}

bool jit_space_parse(const char *status, const char *stat, uint64_t realtime, uint64_t boottime,
		     struct file_reader_process *ret)
{
	const char *uids = status_value(status, "Uid"), *pids = status_value(status, "NSpid");
	unsigned real, effective;
	uint64_t ticks, began;

	if (!uids || !pids || !process_start_ticks(stat, &ticks) ||
	    sscanf(uids, "%u %u", &real, &effective) != 2)
		return false;
	began = ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	ret->uid = effective;
	ret->started = realtime - (boottime - MIN(began, boottime));
	/* The line has one number for each namespace; the process's own namespace is the last. */
	for (int n = 0; *pids && *pids != '\n' && sscanf(pids, "%d%n", &ret->pid_inside, &n) == 1;)
		pids += n;
	return ret->pid_inside > 0;
}

bool jit_space_read_process(struct jit_space *s, const char *proc_root)
{
	char path[64], status[STATUS_MAX], stat[1024];
	ssize_t n, m;

	if (s->is_read || s->process.has_ended)
		return s->is_read;
	snprintf(path, sizeof(path), "%s/%d/status", proc_root, s->pid);
	n = outside_read(path, status, sizeof(status) - 1, OUTSIDE_READ_SHORT_MS);
	snprintf(path, sizeof(path), "%s/%d/stat", proc_root, s->pid);
	m = outside_read(path, stat, sizeof(stat) - 1, OUTSIDE_READ_SHORT_MS);
	if (n < 0 || m < 0)
		return false;
	status[n] = stat[m] = '\0';
	s->process.pid = s->pid;
	s->is_read = jit_space_parse(status, stat, clock_ns(CLOCK_REALTIME), clock_boot_ns(),
				     &s->process);
	return s->is_read;
}

void jit_space_handle_answer(struct jit_space *s, const struct file_answer *a)
{
	if (a->result < 0)
		return;
	if (a->n != s->n_functions || a->file != s->reader_file || a->has_moved)
		s->version++;
	if (a->has_moved)
		s->moved = s->version;
	s->n_functions = a->n;
	s->reader_file = a->file;
}

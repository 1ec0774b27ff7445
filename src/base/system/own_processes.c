/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/own_processes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/outside_reads.h"
#include "base/text/number_read.h"

struct own_processes {
	const char *proc_root; /* borrowed */
	uint32_t *pids; /* borrowed */
	size_t n, max;
};

static void own_processes_add(struct own_processes *own, unsigned long pid)
{
	if (pid > 1 && own->n < own->max)
		own->pids[own->n++] = (uint32_t)pid;
}

static bool process_has_name(const struct own_processes *own, unsigned long pid, const char *name)
{
	char path[64], comm[32];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%lu/comm", own->proc_root, pid);
	len = outside_read(path, comm, sizeof(comm) - 1, OUTSIDE_READ_LONG_MS);
	comm[MAX(len, 0)] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) == 0;
}

/* Adds the children of a process, or, if name is not NULL, those with this name. */
static void add_children(struct own_processes *own, unsigned long parent, const char *name)
{
	char path[64], text[4096], *rest = text, *word;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%lu/task/%lu/children", own->proc_root, parent, parent);
	len = outside_read(path, text, sizeof(text) - 1, OUTSIDE_READ_LONG_MS);
	text[MAX(len, 0)] = '\0';
	while ((word = strsep(&rest, " \n"))) {
		unsigned long pid = (unsigned long)str_leading_u64(word, 10);

		if (pid && (!name || process_has_name(own, pid, name)))
			own_processes_add(own, pid);
	}
}

void own_processes_find(const char *proc_root, pid_t service_pid, uint32_t *pids, size_t max)
{
	struct own_processes own = {.proc_root = proc_root, .pids = pids, .max = max};
	unsigned long service = (unsigned long)service_pid;

	own_processes_add(&own, (unsigned long)getpid());
	add_children(&own, (unsigned long)getpid(), NULL);
	if (service <= 1)
		return;
	own_processes_add(&own, service);
	if (!process_has_name(&own, service, "sondad")) {
		size_t before = own.n;

		add_children(&own, service, "sondad");
		if (own.n == before)
			return;
		service = pids[before];
	}
	add_children(&own, service, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/terminal/kernel_events.h"

/* A folder that stands in for tracefs, with a few events of a kernel. */
struct fake_tracefs {
	char root[64];
};

static const char *const fake_files[] = {"events/ftrace/print/format", "available_events"};
static const char *const fake_dirs[] = {"events/ftrace/print", "events/ftrace", "events"};

static inline void fake_tracefs_make(struct fake_tracefs *t)
{
	char path[160];
	FILE *f;

	strcpy(t->root, "/tmp/fake-tracefs-XXXXXX");
	if (!mkdtemp(t->root))
		abort();
	for (int i = 2; i >= 0; i--) {
		snprintf(path, sizeof(path), "%s/%s", t->root, fake_dirs[i]);
		mkdir(path, 0700);
	}
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", t->root, fake_files[i]);
		f = fopen(path, "w");
		assert(f);
		if (i == 1)
			fputs("sched:sched_switch\nsched:sched_waking\nsched:sched_wakeup\n"
			      "irq:softirq_entry\nirq:softirq_exit\nirq:irq_handler_entry\n"
			      "block:block_rq_issue\nblock:block_rq_complete\nno colon\n"
			      "sonda_12_3456_0:probe_of_a_session\n"
			      "task:task_rename\nmsr:write_msr",
			      f);
		fclose(f);
	}
}

static inline void fake_tracefs_remove(struct fake_tracefs *t)
{
	char path[160];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", t->root, fake_files[i]);
		unlink(path);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", t->root, fake_dirs[i]);
		rmdir(path);
	}
	rmdir(t->root);
}

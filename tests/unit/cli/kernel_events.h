/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/terminal/kernel_events.h"

/* A directory that stands in for tracefs, and the list of its few events: for TEST_GROUP and
 * TEST_WITH. */
static char tracefs[64];
static struct tracefs_events events;

static const char *const tracefs_files[] = {"events/ftrace/print/format", "available_events"};
static const char *const tracefs_dirs[] = {"events/ftrace/print", "events/ftrace", "events"};

static inline int kernel_events_setup(void **state)
{
	char path[160];
	FILE *f;

	strcpy(tracefs, "/tmp/fake-tracefs-XXXXXX");
	if (!mkdtemp(tracefs))
		abort();
	for (int i = 2; i >= 0; i--) {
		snprintf(path, sizeof(path), "%s/%s", tracefs, tracefs_dirs[i]);
		mkdir(path, 0700);
	}
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", tracefs, tracefs_files[i]);
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
	return tracefs_events_load(tracefs, &events);
}

static inline int kernel_events_teardown(void **state)
{
	char path[160];

	tracefs_events_deinit(&events);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", tracefs, tracefs_files[i]);
		unlink(path);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", tracefs, tracefs_dirs[i]);
		rmdir(path);
	}
	rmdir(tracefs);
	return 0;
}

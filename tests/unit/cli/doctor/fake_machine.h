/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/stat.h>

#include "cli/doctor/doctor_check.h"
#include "unit/temp_dir.h"

/* A machine whose files a test writes: proc, sys, boot and tracefs are directories of a temporary
 * one. */
struct fake_machine {
	void *dir;
	char proc[128], sys[128], boot[128], tracefs[128];
	const char *roots[2];
	char journal[128];
	const char *journals[3];
	struct doctor_machine m;
};

static inline void fake_machine_make(struct fake_machine *x)
{
	temp_dir_setup(&x->dir);
	snprintf(x->proc, sizeof(x->proc), "%s/proc", (char *)x->dir);
	snprintf(x->sys, sizeof(x->sys), "%s/sys", (char *)x->dir);
	snprintf(x->boot, sizeof(x->boot), "%s/boot", (char *)x->dir);
	snprintf(x->tracefs, sizeof(x->tracefs), "%s/tracing", (char *)x->dir);
	x->roots[0] = x->tracefs;
	x->roots[1] = NULL;
	snprintf(x->journal, sizeof(x->journal), "%s/journal", (char *)x->dir);
	x->journals[0] = x->journals[1] = x->journal;
	x->journals[2] = NULL;
	x->m = (struct doctor_machine){
		.proc = x->proc,
		.sys = x->sys,
		.boot = x->boot,
		.dir = x->dir,
		.tracefs = x->roots,
		.journals = x->journals,
		.service = DOCTOR_SERVICE_NONE,
	};
}

/* Writes "proc/sys/kernel/osrelease", with the directories above it. text NULL: a directory. */
static inline void fake_machine_file(struct fake_machine *x, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", (char *)x->dir, name);
	for (char *p = path + strlen(x->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	if (!text) {
		mkdir(path, 0755);
		return;
	}
	f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static inline void fake_machine_remove(struct fake_machine *x)
{
	temp_dir_teardown(&x->dir);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/crash_ring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "base/text/str.h"

#define FILE_MAX 65536 /* bytes of a small file of tracefs */

/* Returns the first line of dir/name, which the caller frees; NULL if it cannot be read. */
static char *crash_ring_read(const char *dir, const char *name)
{
	struct strbuf text = {0};
	char path[PATH_MAX];

	if (fs_join(path, sizeof(path), dir, name) || fs_read_file(path, FILE_MAX, &text) < 0 ||
	    !text.s) {
		strbuf_deinit(&text);
		return NULL;
	}
	text.s[strcspn(text.s, "\n")] = '\0';
	return strbuf_take(&text);
}

static bool crash_ring_file_equals(const char *dir, const char *name, const char *expected)
{
	_cleanup_(freep) char *text = crash_ring_read(dir, name);

	return text && !strcmp(text, expected);
}

static enum crash_ring_state state_without_instance(const char *proc, bool is_hidden)
{
	_cleanup_(freep) char *line = crash_ring_read(proc, "cmdline");
	_cleanup_(freep) char *release = crash_ring_read(proc, "sys/kernel/osrelease");

	if (release && !str_is_release_from(release, 6, 12))
		return CRASH_RING_OLD_KERNEL;
	if (!line || !strstr(line, "trace_instance=" CRASH_RING_NAME))
		return CRASH_RING_NOT_MADE;
	return is_hidden ? CRASH_RING_HIDDEN : CRASH_RING_LINE_ONLY;
}

void crash_ring_find(const char *proc, const char *const *roots, struct crash_ring *ret)
{
	_cleanup_(freep) char *kb = NULL;
	bool is_hidden = false;
	char path[PATH_MAX];

	*ret = (struct crash_ring){0};
	for (size_t i = 0; roots[i] && !ret->tracefs[0]; i++) {
		if (fs_join(path, sizeof(path), roots[i], "instances/" CRASH_RING_NAME))
			continue;
		if (access(path, X_OK) < 0) {
			is_hidden |= errno == EACCES;
			continue;
		}
		snprintf(ret->tracefs, sizeof(ret->tracefs), "%s", roots[i]);
		memcpy(ret->path, path, sizeof(path));
	}
	if (!ret->tracefs[0]) {
		ret->state = state_without_instance(proc, is_hidden);
		return;
	}
	kb = crash_ring_read(ret->path, "buffer_total_size_kb");
	ret->bytes = kb ? str_leading_u64(kb, 10) << 10 : 0;
	/* Only an instance in reserved memory has this file. */
	if (fs_join(path, sizeof(path), ret->path, "last_boot_info") || !fs_exists(path))
		ret->state = CRASH_RING_NOT_KEPT;
	else if (crash_ring_file_equals(ret->path, "tracing_on", "1"))
		ret->state = CRASH_RING_RECORDS;
	else
		ret->state = CRASH_RING_STOPPED;
}

const char *crash_ring_state_text(enum crash_ring_state state)
{
	static const char *const why[] = {
		[CRASH_RING_OLD_KERNEL] = "this kernel cannot keep a ring across a reboot: that "
					  "requires Linux 6.12 or later",
		[CRASH_RING_NOT_MADE] = "the kernel's command line does not reserve the ring "
					"(sonda recorder enable --crash prints what to add)",
		[CRASH_RING_LINE_ONLY] =
			"the kernel's command line names the ring, but the kernel did not create "
			"it; see: dmesg | grep -e reserve_mem -e Tracing",
		[CRASH_RING_HIDDEN] = "this user may not read tracefs",
		[CRASH_RING_NOT_KEPT] = "the instance " CRASH_RING_NAME
					" is in ordinary memory: reserve_mem= is missing on the "
					"kernel's command line",
		[CRASH_RING_STOPPED] = "the ring is stopped",
		[CRASH_RING_RECORDS] = "",
	};

	return why[state];
}

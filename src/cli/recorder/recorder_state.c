/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_state.h"

#include "base/core/mem.h"
#include "cli/recorder/recorder_lines.h"

static const struct recorder_line lines[] = {
#define TEXT(member) RECORDER_LINE_TEXT(struct recorder_state, member)
#define NUMBER(member) RECORDER_LINE_NUMBER(struct recorder_state, member)
	NUMBER(pid),	      TEXT(what),
	NUMBER(since_s),      TEXT(why),
	TEXT(words),	      TEXT(consumer),
	TEXT(producer),	      NUMBER(max_bytes),
	NUMBER(keep_s),	      NUMBER(restarts),
	NUMBER(snapshots),    NUMBER(snapshots_failed),
	TEXT(crash),	      NUMBER(snapshots_skipped),
	NUMBER(kernel_bytes),
#undef TEXT
#undef NUMBER
};

int recorder_state_write(const char *dir, const struct recorder_state *s)
{
	return recorder_lines_write(dir, "state", lines, ARRAY_SIZE(lines), s);
}

int recorder_state_read(const char *dir, struct recorder_state *ret)
{
	struct recorder_state s;
	int r = recorder_lines_read(dir, "state", lines, ARRAY_SIZE(lines), &s, sizeof(s));

	if (r == 0)
		*ret = s;
	return r;
}

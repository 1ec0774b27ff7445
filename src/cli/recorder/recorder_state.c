/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_state.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "cli/trace/value_lines.h"

static const struct value_line lines[] = {
#define TEXT(member) VALUE_LINE_TEXT(struct recorder_state, member)
#define NUMBER(member) VALUE_LINE_NUMBER(struct recorder_state, member)
	NUMBER(pid),	      TEXT(what),
	NUMBER(since_s),      TEXT(why),
	TEXT(words),	      TEXT(consumer),
	TEXT(producer),	      NUMBER(max_bytes),
	NUMBER(keep_s),	      NUMBER(restarts),
	NUMBER(snapshots),    NUMBER(snapshots_failed),
	TEXT(crash),	      NUMBER(snapshots_skipped),
	NUMBER(kernel_bytes), TEXT(boot),
#undef TEXT
#undef NUMBER
};

int recorder_state_write(const char *dir, const struct recorder_state *s)
{
	return value_lines_write(dir, "state", 0600, lines, ARRAY_SIZE(lines), s);
}

int recorder_state_read(const char *dir, struct recorder_state *ret)
{
	struct recorder_state s;
	int r = value_lines_read(dir, "state", lines, ARRAY_SIZE(lines), &s, sizeof(s));

	if (r == 0)
		*ret = s;
	return r;
}

void recorder_state_explain_death(struct recorder_state *s)
{
	char boot[RECORDER_BOOT_SIZE];

	recorder_boot_read(boot);
	if (!s->boot[0] || !strcmp(s->boot, boot))
		snprintf(s->why, sizeof(s->why), "it was killed");
	else
		snprintf(s->why, sizeof(s->why), "the machine went down while it was running%s",
			 s->kernel_bytes
				 ? ", and the events that were only in kernel memory are lost"
				 : "");
}

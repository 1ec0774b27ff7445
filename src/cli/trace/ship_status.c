/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/ship_status.h"

#include "base/core/mem.h"
#include "cli/trace/value_lines.h"

static const struct value_line lines[] = {
#define NUMBER(member) VALUE_LINE_NUMBER(struct ship_status, member)
	NUMBER(spool_bytes), NUMBER(oldest_s), NUMBER(dropped),
	NUMBER(stored),	     NUMBER(bad),      NUMBER(failed),
#undef NUMBER
};

int ship_status_write(const char *dir, const char *name, const struct ship_status *s)
{
	return value_lines_write(dir, name, 0644, lines, ARRAY_SIZE(lines), s);
}

int ship_status_read(const char *dir, const char *name, struct ship_status *ret)
{
	struct ship_status s;
	int r = value_lines_read(dir, name, lines, ARRAY_SIZE(lines), &s, sizeof(s));

	if (r == 0)
		*ret = s;
	return r;
}

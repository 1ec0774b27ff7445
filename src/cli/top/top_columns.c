/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_columns.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"

const struct top_column_spec top_columns[TOP_COLUMNS] = {
	{"pid", "PID", 7, 0, TOP_PID, 0, NULL, "pid", "process id"},
	{"cpu", "%CPU", 6, 0, TOP_PERCENT, LIVE_CPU, "cpu_ns", "cpu_percent",
	 "time on a CPU; 100 is one whole CPU"},
	{"runq", "%RUNQ", 6, 1, TOP_PERCENT, LIVE_RUNQ, "runq_ns", "runq_percent",
	 "time waiting for a CPU, summed over its threads"},
	{"block", "%BLOCK", 6, 4, TOP_PERCENT, LIVE_BLOCKED, "blocked_ns", "blocked_percent",
	 "time blocked (D), usually in I/O, summed over its threads"},
	{"sleep", "%SLEEP", 7, 9, TOP_PERCENT, LIVE_SLEEP, "sleep_ns", "sleep_percent",
	 "time asleep (S), summed over its threads"},
	{"syscalls", "SYSC/s", 7, 2, TOP_COUNT, LIVE_SYSCALLS, "syscalls", "syscalls_per_s",
	 "system calls that returned"},
	{"systime", "%SYSC", 6, 8, TOP_PERCENT, LIVE_SYSCALL_TIME, "syscall_ns", "syscall_percent",
	 "time in system calls, including waits"},
	{"errors", "ERR/s", 6, 7, TOP_COUNT, LIVE_SYSCALL_ERRORS, "syscall_errors",
	 "syscall_errors_per_s", "system calls that returned an error"},
	{"read", "READ/s", 7, 3, TOP_BYTES, LIVE_READ, "read_bytes", "read_bytes_per_s",
	 "bytes read from storage"},
	{"write", "WRITE/s", 7, 3, TOP_BYTES, LIVE_WRITTEN, "written_bytes", "written_bytes_per_s",
	 "bytes dirtied, to be written to storage"},
	{"rss", "RSS", 7, 5, TOP_RSS, 0, NULL, "rss_bytes", "memory in RAM"},
	{"command", "COMMAND", -1, 0, TOP_NAME, 0, NULL, "name", "the program"},
};

int top_find_column(const char *key)
{
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		if (!strcmp(key, top_columns[i].key))
			return (int)i;
	return -1;
}

void top_put_column_keys(struct strbuf *out)
{
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		strbuf_printf(out, "%s%s", i ? ", " : "", top_columns[i].key);
}

static void put_count(double v, char *buf, size_t size)
{
	static const char units[] = " kMGT";
	size_t unit = 0;

	for (; v >= 99999.5 && unit + 2 < sizeof(units); unit++)
		v /= 1000;
	if (unit)
		snprintf(buf, size, "%.0f%c", v, units[unit]);
	else
		snprintf(buf, size, v > 0 && v < 9.95 ? "%.1f" : "%.0f", v);
}

static void put_bytes(double v, char *buf, size_t size)
{
	static const char units[] = "BKMGTP";
	size_t unit = 0;

	for (; v >= 1023.5 && unit + 2 < sizeof(units); unit++)
		v /= 1024;
	snprintf(buf, size, unit && v < 99.95 ? "%.1f%c" : "%.0f%c", v, units[unit]);
}

void top_column_format(const struct top_column_spec *c, const struct live_process *p, char *buf,
		       size_t size)
{
	const struct live_value *v = &p->values[c->metric];

	snprintf(buf, size, "-");
	if (c->unit == TOP_PID)
		snprintf(buf, size, "%d", p->pid);
	else if (c->unit == TOP_RSS && p->has_rss)
		put_bytes((double)p->rss, buf, size);
	else if (c->unit == TOP_PERCENT && v->has_rate)
		snprintf(buf, size, "%.1f", v->rate / 1e7);
	else if (c->unit == TOP_COUNT && v->has_rate)
		put_count(v->rate, buf, size);
	else if (c->unit == TOP_BYTES && v->has_rate)
		put_bytes(v->rate, buf, size);
}

double top_column_sort_value(const struct top_column_spec *c, const struct live_process *p)
{
	if (c->unit == TOP_RSS)
		return p->has_rss ? (double)p->rss : -1;
	return p->values[c->metric].has_rate ? p->values[c->metric].rate : -1;
}

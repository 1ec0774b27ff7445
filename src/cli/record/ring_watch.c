// SPDX-License-Identifier: Apache-2.0
/*
 * A stats file has lines "name: number":
 *
 *	entries: 129            in the ring now
 *	overrun: 0              overwritten before they were read
 *	commit overrun: 0       lost, since an interrupt wrote around the whole ring
 *	dropped events: 0       refused by a full ring that does not overwrite
 *	read events: 13         taken out
 */

#include "cli/record/ring_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/fs.h"

#define MAX_STATS_BYTES 4096

void ring_watch_path(struct strbuf *b, const char *tracefs_root, pid_t probes, uint64_t session)
{
	strbuf_printf(b, "%s/instances/sonda-%d-%llu", tracefs_root, (int)probes,
		      (unsigned long long)session);
}

static uint64_t number_after(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ':')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

static void add_cpu(struct ring_totals *t, const char *stats)
{
	uint64_t lost = number_after(stats, "overrun") + number_after(stats, "commit overrun") +
			number_after(stats, "dropped events");

	t->lost += lost;
	t->events += lost + number_after(stats, "entries") + number_after(stats, "read events");
	t->cpus++;
}

struct reading {
	const char *dir; /* per_cpu */
	struct ring_totals totals;
};

static int read_cpu(void *ctx, const char *name, unsigned char d_type)
{
	struct reading *reading = ctx;
	struct strbuf path = {0}, text = {0};
	int r;

	(void)d_type;
	strbuf_printf(&path, "%s/%s/stats", reading->dir, name);
	r = path.failed ? -ENOMEM : fs_read_file(path.s, MAX_STATS_BYTES, &text);
	if (!r && text.s)
		add_cpu(&reading->totals, text.s);
	strbuf_deinit(&path);
	strbuf_deinit(&text);
	return r;
}

int ring_watch_read(const char *instance, struct ring_totals *ret)
{
	struct reading reading = {0};
	struct strbuf dir = {0};
	int r;

	strbuf_printf(&dir, "%s/per_cpu", instance);
	if (dir.failed) {
		strbuf_deinit(&dir);
		return -ENOMEM;
	}
	reading.dir = dir.s;
	r = fs_each(dir.s, read_cpu, &reading);
	strbuf_deinit(&dir);
	if (!r)
		*ret = reading.totals;
	return r;
}

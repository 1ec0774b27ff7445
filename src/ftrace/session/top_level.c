// SPDX-License-Identifier: Apache-2.0
#include "ftrace/session/top_level.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "ftrace/tracefs/setting_file.h"
#include "ftrace/tracefs/ring_reader.h"

/* The first line of a file, for the caller to free; "" where it has none. NULL: memory is out. */
static char *first_line(const char *root, const char *file)
{
	_cleanup_(freep) char *text = NULL;
	char path[4096];

	if (!fs_join(path, sizeof(path), root, file))
		text = knob_read(path);
	return text ? strndup(text, strcspn(text, "\n")) : strdup("");
}

struct records {
	const char *root;
	uint64_t n;
};

static int add_records(void *ctx, const char *name, unsigned char d_type)
{
	struct records *r = ctx;
	char file[300];
	_cleanup_(freep) char *line = NULL;
	unsigned long long n;

	(void)d_type;
	snprintf(file, sizeof(file), "per_cpu/%s/stats", name);
	line = first_line(r->root, file);
	if (line && sscanf(line, "entries: %llu", &n) == 1)
		r->n += n;
	return 0;
}

static uint64_t count_records(const char *root)
{
	struct records r = {.root = root};
	char path[4096];

	if (!fs_join(path, sizeof(path), root, "per_cpu"))
		fs_each(path, add_records, &r);
	return r.n;
}

int top_level_is_free(const char *root, const char *proc_root, struct err_text *e)
{
	_cleanup_(freep) char *tracer = first_line(root, "current_tracer");
	_cleanup_(freep) char *event = first_line(root, "set_event");
	_cleanup_(freep) char *on = first_line(root, "tracing_on");
	struct ring_reader reader;
	uint64_t n;

	if (!tracer || !event || !on)
		return err_set(e, -ENOMEM, "out of memory");
	if (*tracer && strcmp(tracer, "nop"))
		return err_set(e, -EBUSY, "somebody uses tracefs' top level: current_tracer is %s",
			       tracer);
	if (*event)
		return err_set(e, -EBUSY, "somebody uses tracefs' top level: %s is on there",
			       event);
	if (ring_reader_find(root, proc_root, &reader))
		return err_set(e, -EBUSY,
			       "somebody uses tracefs' top level: %s (process %d) reads its rings",
			       reader.name, reader.pid);
	n = *on == '0' ? count_records(root) : 0;
	if (n)
		return err_set(e, -EBUSY,
			       "a recording lies in the rings of tracefs' top level: it is stopped "
			       "with %llu records",
			       (unsigned long long)n);
	return 0;
}

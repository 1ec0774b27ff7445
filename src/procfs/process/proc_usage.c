/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/proc_usage.h"

#include <errno.h>

#include "base/core/mem.h"
#include "procfs/process/proc_status.h"

static const char *const io_names[PROC_IO_KEYS] = {
	[PROC_IO_RCHAR] = "rchar",
	[PROC_IO_WCHAR] = "wchar",
	[PROC_IO_SYSCR] = "syscr",
	[PROC_IO_SYSCW] = "syscw",
	[PROC_IO_READ_BYTES] = "read_bytes",
	[PROC_IO_WRITE_BYTES] = "write_bytes",
	[PROC_IO_CANCELLED_WRITE_BYTES] = "cancelled_write_bytes",
};

static void take_io_line(struct span line, struct proc_io *io)
{
	struct span key, value;
	const char *p;

	if (!span_split(line, &key, &value))
		return;
	for (unsigned k = 0; k < PROC_IO_KEYS; k++) {
		if (!span_is(key, io_names[k]))
			continue;
		p = value.p;
		if (!(io->has >> k & 1) &&
		    proc_take_number(&p, p + value.len, INT64_MAX, &io->v[k]))
			io->has |= 1u << k;
		return;
	}
}

int proc_io_parse(const char *text, size_t len, struct proc_io *ret)
{
	struct span rest = {text, len}, line;
	struct proc_io io = {0};

	while (span_next_line(&rest, &line))
		take_io_line(line, &io);
	if (!io.has)
		return -EBADMSG;
	*ret = io;
	return 0;
}

int proc_schedstat_parse(const char *text, size_t len, struct proc_schedstat *ret)
{
	const char *p = text, *end = text + len;
	struct proc_schedstat s;

	if (!proc_take_number(&p, end, INT64_MAX, &s.run_ns) ||
	    !proc_take_number(&p, end, INT64_MAX, &s.wait_ns) ||
	    !proc_take_number(&p, end, INT64_MAX, &s.slices))
		return -EBADMSG;
	*ret = s;
	return 0;
}

/* ---- cgroup: "ID:CONTROLLER,CONTROLLER:PATH"; the id of version 2 is 0 ---- */

enum rank { RANK_ROOT, RANK_OTHER, RANK_MEMORY, RANK_SYSTEMD, RANK_V2 };

static bool has_controller(struct span list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list.p, *end = p + list.len; p < end;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *word_end = comma ? comma : end;

		if ((size_t)(word_end - p) == n && memcmp(p, name, n) == 0)
			return true;
		p = comma ? comma + 1 : end;
	}
	return false;
}

static enum rank rank_of(struct span number, struct span controllers, struct span path)
{
	if (span_is(path, "/"))
		return RANK_ROOT;
	if (span_is(number, "0") && controllers.len == 0)
		return RANK_V2;
	if (has_controller(controllers, "name=systemd"))
		return RANK_SYSTEMD;
	return has_controller(controllers, "memory") ? RANK_MEMORY : RANK_OTHER;
}

/* Not span_split(), because a trailing blank is part of the path. */
static bool proc_usage_cut(struct span *rest, struct span *ret_field)
{
	const char *colon = rest->len ? memchr(rest->p, ':', rest->len) : NULL;

	if (!colon)
		return false;
	*ret_field = (struct span){rest->p, (size_t)(colon - rest->p)};
	rest->len -= ret_field->len + 1;
	rest->p = colon + 1;
	return true;
}

int proc_cgroup_parse(const char *text, size_t len, struct span *ret_path)
{
	struct span rest = {text, len}, line, number, controllers, path = {0};
	enum rank best = RANK_ROOT;

	while (span_next_line(&rest, &line)) {
		enum rank rank;

		if (!proc_usage_cut(&line, &number) || !proc_usage_cut(&line, &controllers) ||
		    line.len == 0 || line.p[0] != '/')
			continue;
		rank = rank_of(number, controllers, line);
		if (path.len && rank <= best)
			continue;
		path = line;
		best = rank;
	}
	if (!path.len)
		return -EBADMSG;
	*ret_path = path;
	return 0;
}

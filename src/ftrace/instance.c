// SPDX-License-Identifier: Apache-2.0
/* The files of one instance, through libtracefs. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracefs.h>

#include "base/mem.h"
#include "base/str.h"
#include "ftrace/instance.h"

#define MAX_SAME_SESSION 64 /* ftrace sources of one session */
#define MIN_BUFFER_KB 4u

/* The folder of attempt n, or -ENAMETOOLONG. */
static int instance_path(char *path, size_t size, const char *root, uint64_t session_id, unsigned n)
{
	char suffix[16] = "";
	int len;

	if (n > 1)
		snprintf(suffix, sizeof(suffix), "-%u", n);
	len = snprintf(path, size, "%s/instances/sonda-%d-%llu%s", root, (int)getpid(),
		       (unsigned long long)session_id, suffix);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

static void release(struct instance *i)
{
	if (i->tracefs)
		tracefs_instance_free(i->tracefs);
	free(i->path);
	*i = (struct instance){0};
}

int instance_make(struct instance *i, const char *root, uint64_t session_id, struct err_text *e)
{
	char path[4096];
	int r;

	*i = (struct instance){0};
	for (unsigned n = 1; n <= MAX_SAME_SESSION; n++) {
		r = instance_path(path, sizeof(path), root, session_id, n);
		if (r)
			return err_set(e, r, "the path of %s is too long", root);
		r = mkdir(path, 0700) ? -errno : 0;
		if (r != -EEXIST)
			break;
	}
	if (r)
		return err_set(e, r, "cannot make %s: %s%s", path, strerror(-r),
			       r == -EACCES || r == -EPERM ? " (it takes root)" : "");
	i->path = strdup(path);
	i->tracefs = tracefs_instance_alloc(root, strrchr(path, '/') + 1);
	if (!i->path || !i->tracefs) {
		rmdir(path);
		release(i);
		return err_set(e, -ENOMEM, "cannot use %s: out of memory", path);
	}
	/* A new instance records by itself. */
	r = instance_write(i, "tracing_on", "0");
	if (r) {
		err_set(e, r, "cannot write %s/tracing_on: %s", path, strerror(-r));
		instance_remove(i);
	}
	return r;
}

int instance_remove(struct instance *i)
{
	int r = 0;

	if (!i->tracefs)
		return 0;
	if (rmdir(i->path)) {
		r = -errno;
		/* It costs nothing from here on but its folder. */
		instance_write(i, "events/enable", "0");
		instance_write(i, "buffer_size_kb", "1");
	}
	release(i);
	return r;
}

int instance_write(const struct instance *i, const char *file, const char *text)
{
	errno = 0;
	if (tracefs_instance_file_write(i->tracefs, file, text) >= 0)
		return 0;
	return errno ? -errno : -EIO;
}

char *instance_path_of(const struct instance *i, const char *file)
{
	return tracefs_instance_get_file(i->tracefs, file);
}

char *instance_read(const struct instance *i, const char *file)
{
	return tracefs_instance_file_read(i->tracefs, file, NULL);
}

int instance_open(const struct instance *i, const char *file, int flags)
{
	int fd;

	errno = 0;
	fd = tracefs_instance_file_open(i->tracefs, file, flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno ? -errno : -EIO;
}

/* ---- rings ---- */

int instance_set_buffer_kb(const struct instance *i, uint32_t kb, uint32_t *ret_kb)
{
	char text[16];
	int r;

	for (;; kb /= 2) {
		snprintf(text, sizeof(text), "%u", kb);
		r = instance_write(i, "buffer_size_kb", text);
		if (r != -ENOMEM || kb / 2 < MIN_BUFFER_KB)
			break;
	}
	if (!r)
		*ret_kb = kb;
	return r;
}

uint32_t instance_buffer_kb(const struct instance *i)
{
	long long kb;

	if (tracefs_instance_file_read_number(i->tracefs, "buffer_size_kb", &kb) || kb < 0 ||
	    kb > UINT32_MAX)
		return 0;
	return (uint32_t)kb;
}

/* ---- clock ---- */

static enum ftrace_clock clock_of(const char *name)
{
	static const struct {
		const char *name;
		enum ftrace_clock clock;
	} clocks[] = {
		{"boot", FTRACE_CLOCK_BOOT},
		{"global", FTRACE_CLOCK_GLOBAL},
		{"local", FTRACE_CLOCK_LOCAL},
		{"mono_raw", FTRACE_CLOCK_MONO_RAW},
	};

	for (unsigned i = 0; name && i < ARRAY_SIZE(clocks); i++)
		if (!strcmp(name, clocks[i].name))
			return clocks[i].clock;
	return FTRACE_CLOCK_UNKNOWN;
}

enum ftrace_clock instance_clock(const struct instance *i)
{
	_cleanup_(freep) char *on = tracefs_get_clock(i->tracefs);

	return clock_of(on);
}

enum ftrace_clock instance_set_clock(const struct instance *i, bool mono_raw)
{
	static const char *const order[] = {"mono_raw", "boot", "global", "local"};

	/* The kernel refuses a clock that it does not have. */
	for (unsigned n = mono_raw ? 0 : 1; n < ARRAY_SIZE(order); n++)
		if (!instance_write(i, "trace_clock", order[n]))
			break;
	return instance_clock(i);
}

/* ---- events ---- */

/* Some kernels refuse one way and take the other. */
int instance_enable_event(const struct instance *i, const char *group, const char *name)
{
	char text[512];
	int r;

	errno = 0;
	if (tracefs_event_file_write(i->tracefs, group, name, "enable", "1") >= 0)
		return 0;
	r = errno ? -errno : -EIO;
	snprintf(text, sizeof(text), "%s:%s", group, name);
	return tracefs_instance_file_append(i->tracefs, "set_event", text) >= 0 ? 0 : r;
}

int instance_copy_markers(const struct instance *i)
{
	int r = instance_write(i, "options/copy_trace_marker", "1");

	return r == -ENOENT ? -EOPNOTSUPP : r;
}

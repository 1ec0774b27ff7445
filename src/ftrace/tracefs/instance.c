/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one instance, through libtracefs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tracefs.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/tracefs/instance.h"
#include "ftrace/tracefs/override.h"
#include "ftrace/tracefs/setting_file.h"

#define COPY_MARKERS "options/copy_trace_marker"

/* Long enough for another sonda-probes to make an instance; an unknown holder may need longer. */
#define LOCK_TRIES 50
/* Long enough for a process that reads the files of all instances, even on a busy machine. */
#define REMOVE_TRIES 50
/* Long enough for a session that reads its rings to the end. */
#define KEPT_TRIES 3000
#define PAUSE_NS (10 * 1000 * 1000)

#define MAX_SAME_SESSION 64 /* ftrace sources of one session */

/* Writes the path of attempt n. Returns 0 or -ENAMETOOLONG. */
static int format_instance_path(char *path, size_t size, const char *root, uint64_t session_id,
				unsigned n)
{
	char suffix[16] = "";
	int len;

	if (n > 1)
		snprintf(suffix, sizeof(suffix), "-%u", n);
	len = snprintf(path, size, "%s/instances/sonda-%d-%llu%s", root, (int)getpid(),
		       (unsigned long long)session_id, suffix);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

static void pause_before_retry(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* Makes the directory of an instance. mkdir and rmdir of an instance block: the kernel waits for
 * its CPUs, or removes thousands of events. */
static int make_dir(const char *path)
{
	int r;

	coroutine_block_begin();
	r = mkdir(path, 0700) ? -errno : 0;
	coroutine_block_end();
	return r;
}

static int remove_dir(const char *path)
{
	int r = -EBUSY;

	coroutine_block_begin();
	for (int i = 0; i < REMOVE_TRIES && r == -EBUSY; i++) {
		if (i)
			pause_before_retry();
		r = rmdir(path) ? -errno : 0;
	}
	coroutine_block_end();
	return r;
}

/* Returns a descriptor of the directory with its lock, or -errno. */
static int lock_dir(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) ? -errno : TAKE_FD(fd);
}

int instances_lock(const char *root)
{
	char path[4096];
	int r = fs_join(path, sizeof(path), root, "instances");

	if (r)
		return r;
	coroutine_block_begin();
	for (int i = 0; i < LOCK_TRIES; i++) {
		r = lock_dir(path);
		if (r != -EWOULDBLOCK)
			break;
		pause_before_retry();
	}
	coroutine_block_end();
	return r;
}

bool instance_is_locked(const char *path)
{
	int fd = lock_dir(path);

	if (fd >= 0)
		close(fd);
	return fd == -EWOULDBLOCK;
}

static void instance_release(struct instance *i)
{
	if (i->tracefs && !i->override && i->lock >= 0)
		close(i->lock);
	if (i->tracefs)
		tracefs_instance_free(i->tracefs);
	free(i->path);
	override_free(i->override);
	*i = (struct instance){0};
}

/* Opens and locks the directory. Turns the recording off unless it is_old. On failure, sets e and
 * removes the directory unless it is_old. */
static int instance_begin(struct instance *i, const char *root, const char *path, bool is_old,
			  struct err_text *e)
{
	int r;

	i->path = strdup(path);
	i->tracefs = tracefs_instance_alloc(root, strrchr(path, '/') + 1);
	if (!i->path || !i->tracefs) {
		if (!is_old)
			remove_dir(path);
		instance_release(i);
		return err_set(e, -ENOMEM, "cannot use %s: out of memory", path);
	}
	i->lock = lock_dir(path);
	if (is_old)
		return 0;
	/* The kernel starts a new instance with tracing on. */
	r = instance_write(i, "tracing_on", "0");
	if (r) {
		err_set(e, r, "cannot write %s/tracing_on: %s", path, strerror(-r));
		instance_remove(i);
	}
	return r;
}

static int instance_set_make_error(const char *path, int r, struct err_text *e)
{
	return err_set(e, r, "cannot create %s: %s%s", path, strerror(-r),
		       r == -EACCES || r == -EPERM ? " (root is required)" : "");
}

int instance_make(struct instance *i, const char *root, uint64_t session_id, struct err_text *e)
{
	/* Keeps the lock until the new instance has a lock of its own, because an instance without
	 * a lock counts as stale. unused: clang does not count the cleanup as a use. */
	_cleanup_(closep) __attribute__((unused)) int others = instances_lock(root);
	char path[4096];
	int r;

	*i = (struct instance){.lock = -1};
	for (unsigned n = 1; n <= MAX_SAME_SESSION; n++) {
		r = format_instance_path(path, sizeof(path), root, session_id, n);
		if (r)
			return err_set(e, r, "the path of %s is too long", root);
		r = make_dir(path);
		if (r != -EEXIST)
			break;
	}
	return r ? instance_set_make_error(path, r, e) : instance_begin(i, root, path, false, e);
}

static int instance_try_make_kept(struct instance *i, const char *root, const char *path,
				  bool *ret_is_old, struct err_text *e)
{
	_cleanup_(closep) __attribute__((unused)) int others = instances_lock(root);
	int r = make_dir(path);

	*i = (struct instance){.lock = -1};
	*ret_is_old = r == -EEXIST;
	if (*ret_is_old && instance_is_locked(path))
		return err_set(e, -EBUSY, "another recording is using %s", path);
	if (r && !*ret_is_old)
		return instance_set_make_error(path, r, e);
	r = instance_begin(i, root, path, *ret_is_old, e);
	i->stays = !r && *ret_is_old;
	return r;
}

int instance_make_kept(struct instance *i, const char *root, const char *name, bool *ret_is_old,
		       struct err_text *e)
{
	int r, tries = 0, n;
	char path[4096];

	n = snprintf(path, sizeof(path), "%s/instances/sonda-kept-%s", root, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, -ENAMETOOLONG, "the path of %s is too long", root);
	while ((r = instance_try_make_kept(i, root, path, ret_is_old, e)) == -EBUSY &&
	       tries++ < KEPT_TRIES && coroutine_yield() == 0) {
		coroutine_block_begin();
		pause_before_retry();
		coroutine_block_end();
	}
	return r;
}

/* Opens the directory target->subdir: a named instance, the top level, or a directory next to
 * `instances`. */
static struct tracefs_instance *open_instance_dir(const struct override_target *target,
						  const char *path)
{
	static const char prefix[] = "instances/";

	if (str_starts(target->subdir, prefix))
		return tracefs_instance_alloc(target->root, target->subdir + strlen(prefix));
	return tracefs_instance_alloc(path, NULL);
}

int instance_attach(struct instance *i, const struct override_target *target, struct err_text *e)
{
	char path[4096], file[4096];
	int r, n;

	*i = (struct instance){0};
	n = snprintf(path, sizeof(path), "%s%s%s", target->root, *target->subdir ? "/" : "",
		     target->subdir);
	if (n < 0 || (size_t)n >= sizeof(path) || fs_join(file, sizeof(file), path, "tracing_on"))
		return err_set(e, -ENAMETOOLONG, "the path of %s is too long", target->subdir);
	if (!fs_exists(file))
		return err_set(e, -ENOENT, "%s does not exist", path);
	r = override_new(target, &i->override, e);
	if (r)
		return r;
	i->path = strdup(path);
	i->tracefs = open_instance_dir(target, path);
	if (i->path && i->tracefs)
		return 0;
	instance_release(i);
	return err_set(e, -ENOMEM, "cannot use %s: out of memory", path);
}

int instance_remove(struct instance *i)
{
	int r = 0;

	if (!i->tracefs)
		return 0;
	if (i->override) {
		r = override_restore(i->override);
	} else if (i->stays) {
		r = 0;
	} else if ((r = remove_dir(i->path))) {
		/* From now on the instance should cost little more than its directory. */
		instance_write(i, "current_tracer", "nop");
		instance_write(i, "events/enable", "0");
		instance_write(i, "buffer_size_kb", "1");
	}
	instance_release(i);
	return r;
}

bool instance_is_held_by_others(const struct instance *i, const char *file)
{
	return i->override && override_is_held_by_others(i->override, file);
}

bool instance_has_changed(const struct instance *i, const char *file)
{
	return i->override ? override_has_changed(i->override, file) : i->tracefs != NULL;
}

bool instance_has_other_sessions(const struct instance *i)
{
	return instance_is_held_by_others(i, "tracing_on");
}

const char *instance_refused_file(const struct instance *i)
{
	return i->override ? override_refused_file(i->override) : NULL;
}

/* Writes a file outside of the event loop: the kernel needs tens of milliseconds for sizes, clocks,
 * filters, and some switches. */
static int write_file_of_instance(const struct instance *i, const char *file, const char *text,
				  int (*put)(const char *path, const char *text))
{
	_cleanup_(freep) char *path = instance_make_path(i, file);
	int r = -ENOMEM;

	if (!path)
		return r;
	coroutine_block_begin();
	r = put(path, text);
	coroutine_block_end();
	return r;
}

int instance_write(const struct instance *i, const char *file, const char *text)
{
	return i->override ? override_write(i->override, file, text)
			   : write_file_of_instance(i, file, text, setting_write);
}

int instance_append(const struct instance *i, const char *file, const char *text)
{
	return i->override ? override_append(i->override, file, text)
			   : write_file_of_instance(i, file, text, setting_append);
}

int instance_keep_ring(const struct instance *i)
{
	_cleanup_(freep) char *on = instance_read(i, "tracing_on");

	override_join(i->override);
	return instance_write(i, "tracing_on", on && *on == '0' ? "0" : "1");
}

int instance_stop(const struct instance *i)
{
	if (i->copies_markers)
		(void)instance_write(i, COPY_MARKERS, "0");
	if (!i->override)
		return instance_write(i, "tracing_on", "0");
	override_release(i->override, "tracing_on");
	return 0;
}

/* Clears the rings. That changes nothing that could be restored, so the override is not
 * involved. */
int instance_clear(const struct instance *i)
{
	int fd;

	errno = 0;
	fd = tracefs_instance_file_open(i->tracefs, "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return errno ? -errno : -EIO;
	close(fd);
	return 0;
}

char *instance_make_path(const struct instance *i, const char *file)
{
	return tracefs_instance_get_file(i->tracefs, file);
}

/* While the file is opened, the event loop runs on, because the open waits for locks of tracefs,
 * for seconds while other tracers make and remove instances. With an override the loop does not
 * run: there, other sessions must not change a setting between this read and what the caller does
 * with it. */
char *instance_read(const struct instance *i, const char *file)
{
	char *text;

	if (!i->override)
		coroutine_block_begin();
	text = tracefs_instance_file_read(i->tracefs, file, NULL);
	coroutine_block_end();
	return text;
}

int instance_open(const struct instance *i, const char *file, int flags)
{
	int fd, r;

	if (i->override && (flags & O_ACCMODE) != O_RDONLY) {
		r = override_save(i->override, file, NULL);
		if (r)
			return r;
	}
	errno = 0;
	fd = tracefs_instance_file_open(i->tracefs, file, flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno ? -errno : -EIO;
}

/* ---- rings ---- */

struct cpu_sizes {
	const struct instance *i;
	unsigned last; /* the highest CPU number so far */
	char *of_last; /* owned: the size of the ring of that CPU, as read */
};

static int find_last_cpu(void *ctx, const char *name, unsigned char d_type)
{
	struct cpu_sizes *s = ctx;
	char file[300];
	unsigned cpu;

	if (sscanf(name, "cpu%u", &cpu) != 1 || cpu < s->last)
		return 0;
	snprintf(file, sizeof(file), "per_cpu/%s/buffer_size_kb", name);
	free(s->of_last);
	s->of_last = instance_read(s->i, file);
	s->last = cpu;
	return 0;
}

static int save_ring_size_of_cpu(void *ctx, const char *name, unsigned char d_type)
{
	const struct cpu_sizes *s = ctx;
	_cleanup_(freep) char *size = NULL;
	char file[300];

	snprintf(file, sizeof(file), "per_cpu/%s/buffer_size_kb", name);
	size = instance_read(s->i, file);
	if (size && strcmp(size, s->of_last) != 0)
		override_save(s->i->override, file, size);
	return 0;
}

/* Saves the sizes. They are restored in reverse order: first the size of sub-buffers, for which the
 * kernel reallocates the rings; then the common size of the rings; then the sizes of the CPUs that
 * differ from it. If the sizes differ ("X"), the size of the last CPU is taken as the common one:
 * absent CPUs have the highest numbers, and their size cannot be set alone. */
void instance_save_sizes(const struct instance *i)
{
	_cleanup_(freep) char *size = instance_read(i, "buffer_size_kb");
	_cleanup_(freep) char *cpus = instance_make_path(i, "per_cpu");
	struct cpu_sizes s = {.i = i};

	if (!i->override || !size || !cpus)
		return;
	if (*size == 'X')
		fs_each(cpus, find_last_cpu, &s);
	if (s.of_last)
		fs_each(cpus, save_ring_size_of_cpu, &s);
	override_save(i->override, "buffer_size_kb", s.of_last);
	override_save(i->override, "buffer_subbuf_size_kb", NULL);
	free(s.of_last);
}

static uint32_t read_kb(const struct instance *i, const char *file)
{
	_cleanup_(freep) char *text = instance_read(i, file);
	unsigned kb;

	/* "7 (expanded: 1408)": the top level before its first use. */
	return text && sscanf(text, "%u", &kb) == 1 ? kb : 0;
}

struct largest {
	const struct instance *i;
	uint32_t kb;
};

static int update_largest_size(void *ctx, const char *name, unsigned char d_type)
{
	struct largest *l = ctx;
	char file[300];
	uint32_t kb;

	snprintf(file, sizeof(file), "per_cpu/%s/buffer_size_kb", name);
	kb = read_kb(l->i, file);
	l->kb = MAX(l->kb, kb);
	return 0;
}

/* Returns the size of the largest ring: buffer_size_kb reads "X" if the CPUs have different
 * sizes. */
uint32_t instance_ring_kb(const struct instance *i)
{
	_cleanup_(freep) char *cpus = NULL;
	struct largest l = {.i = i, .kb = read_kb(i, "buffer_size_kb")};

	if (!l.kb && (cpus = instance_make_path(i, "per_cpu")))
		fs_each(cpus, update_largest_size, &l);
	return l.kb;
}

uint32_t instance_subbuf_kb(const struct instance *i)
{
	uint32_t kb = read_kb(i, "buffer_subbuf_size_kb");

	return kb ? kb : (uint32_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* ---- clock ---- */

static enum ftrace_clock parse_clock_name(const char *name)
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

	return parse_clock_name(on);
}

enum ftrace_clock instance_set_clock(const struct instance *i, bool mono_raw)
{
	static const char *const order[] = {"mono_raw", "boot", "global", "local"};

	/* The kernel refuses unknown clocks. */
	for (unsigned n = mono_raw ? 0 : 1; n < ARRAY_SIZE(order); n++) {
		int r = instance_write(i, "trace_clock", order[n]);

		if (!r || r == -EBUSY)
			break;
	}
	return instance_clock(i);
}

/* ---- events ---- */

/* Enables an event through its `enable` file, else through set_event: some kernels refuse one of
 * them. */
int instance_enable_event(const struct instance *i, const char *group, const char *name)
{
	char text[512];
	int r;

	snprintf(text, sizeof(text), "events/%s/%s/enable", group, name);
	r = instance_write(i, text, "1");
	if (!r || i->override)
		return r;
	snprintf(text, sizeof(text), "%s:%s", group, name);
	return tracefs_instance_file_append(i->tracefs, "set_event", text) >= 0 ? 0 : r;
}

bool instance_can_copy_markers(const struct instance *i)
{
	_cleanup_(freep) char *path = instance_make_path(i, COPY_MARKERS);

	return i->override || (path && fs_exists(path));
}

int instance_copy_markers(struct instance *i)
{
	int r = i->override ? 0 : instance_write(i, COPY_MARKERS, "1");

	i->copies_markers = !i->override && !r;
	return r == -ENOENT ? -EOPNOTSUPP : r;
}

bool instance_has_printk(const struct instance *i)
{
	_cleanup_(freep) char *is_set = instance_read(i, "options/trace_printk_dest");

	return i->override || (is_set && *is_set == '1');
}

bool instance_has_tracer(const struct instance *i, const char *tracer)
{
	_cleanup_(freep) char *text = instance_read(i, "available_tracers");
	char *rest = text, *word;

	while (rest && (word = strsep(&rest, " \n")))
		if (!strcmp(word, tracer))
			return true;
	return false;
}

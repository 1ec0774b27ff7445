/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/session/session_instance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tracefs.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "ftrace/options/synthetic_events.h"
#include "ftrace/ring/ring_config.h"
#include "ftrace/tracefs/foreign_reader.h"
#include "ftrace/tracefs/instance.h"
#include "ftrace/tracefs/override.h"
#include "ftrace/tracefs/owner_tag.h"
#include "ftrace/tracefs/setting_file.h"

#define SHOWN 100 /* bytes of an invalid name that are shown */
#define KEPT_NAME_MAX 40

static int session_instance_refuse(struct err_text *e, int error, const char *name, const char *why)
{
	return err_set(e, error, "instance_name \"%.*s\": %s", SHOWN, name, why);
}

static int refuse_unknown(struct err_text *e, const char *root, const char *name)
{
	char path[4096], best[STR_NEAREST_SIZE], why[300];
	const char *meant = NULL;

	if (!fs_join(path, sizeof(path), root, "instances"))
		meant = fs_find_nearest(path, name, best);
	snprintf(why, sizeof(why), "the kernel has no such instance%s%s%s",
		 meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
	return session_instance_refuse(e, -ENOENT, name, why);
}

static const char *instance_name_problem(const char *name)
{
	if (!*name || strchr(name, '/') || str_starts(name, "..") || !strcmp(name, "."))
		return "not an instance name";
	return str_starts(name, "sonda-") ? "it belongs to another recording" : NULL;
}

int session_instance_attach_named(struct instance *i, const char *root, const char *state,
				  const char *name, struct err_text *e)
{
	bool beside = !strcmp(name, "hyp") || !strcmp(name, "hypervisor");
	struct override_target target = {.root = root, .state = state};
	const char *why = instance_name_problem(name);
	char subdir[300];
	int r;

	*i = (struct instance){0};
	if (why)
		return session_instance_refuse(e, -EINVAL, name, why);
	r = snprintf(subdir, sizeof(subdir), "%s%s", beside ? "" : "instances/", name);
	if (r < 0 || (size_t)r >= sizeof(subdir))
		return session_instance_refuse(e, -ENAMETOOLONG, name, "too long");
	target.subdir = subdir;
	r = instance_attach(i, &target, e);
	return r == -ENOENT ? refuse_unknown(e, root, name) : r;
}

/*
 * Instances of a killed process are recognized by their name, sonda-PID-SESSION. The owner has
 * ended if no process holds the lock of the directory, and if no process has the pid or the process
 * with the pid started after the directory was made. For an owner in another pid namespace only the
 * lock shows this.
 */

/* Start times have the resolution of ticks, and the two clocks are read one after the other. */
#define START_SLACK_NS (2 * NS_PER_S)

/* Returns the pid of "sonda-PID-SESSION" or "sonda-PID-SESSION-N"; 0 for any other name. */
static int parse_owner_pid(const char *name)
{
	int pid, after = 0, end = 0;

	if (sscanf(name, "sonda-%d-%*u%n", &pid, &after) != 1 || !after || pid <= 0)
		return 0;
	if (name[after] && (sscanf(name + after, "-%*u%n", &end) != 0 || !end))
		return 0;
	return name[after + end] ? 0 : pid;
}

static bool is_owner_alive(int pid, const char *path)
{
	struct owner_tag owner = owner_tag_read(pid);
	struct stat st;
	uint64_t made;

	if (pid == getpid() || !owner.lives)
		return false;
	if (stat(path, &st))
		return true;
	made = (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
	return owner_tag_start_ns(&owner) <= made + START_SLACK_NS;
}

struct sweep {
	char instances[4096];
	int removed;
};

static int remove_if_stale(void *ctx, const char *name, unsigned char d_type)
{
	int pid = parse_owner_pid(name);
	struct sweep *s = ctx;
	char path[4096 + 256];

	snprintf(path, sizeof(path), "%s/%s", s->instances, name);
	if (!pid || is_owner_alive(pid, path) || instance_is_locked(path))
		return 0;
	synthetic_events_release(path);
	s->removed += !rmdir(path);
	return 0;
}

int instance_remove_stale(const char *root)
{
	struct sweep s = {.removed = 0};
	_cleanup_(closep) __attribute__((unused)) int others = instances_lock(root);
	int before, r = fs_join(s.instances, sizeof(s.instances), root, "instances");

	/* readdir() may skip entries of a directory that shrinks. */
	do {
		before = s.removed;
		if (!r)
			r = fs_each(s.instances, remove_if_stale, &s);
	} while (!r && s.removed > before);
	return r ? r : s.removed;
}

/* ---- the clock ---- */

static void session_instance_set_clock(const struct setup *s,
				       const struct ftrace_settings *settings,
				       const struct instance *i)
{
	enum ftrace_clock clock = instance_set_clock(i, settings->mono_raw_clock);

	if (settings->mono_raw_clock && clock != FTRACE_CLOCK_MONO_RAW)
		setup_error_add(s->errors,
				"option:use_monotonic_raw_clock (not supported by this kernel)");
}

/* ---- own instances ---- */

/* Returns the size of the top level's rings, which the caller frees, or NULL if it cannot be read.
 * The open waits for locks of tracefs, for seconds while other tracers make instances. */
static char *read_top_size(const char *root)
{
	char path[4096], *size;

	if (fs_join(path, sizeof(path), root, "buffer_size_kb"))
		return NULL;
	coroutine_block_begin();
	size = setting_read(path);
	coroutine_block_end();
	return size;
}

/* Gives the rings of the top level the size that they would have without our instance. They are
 * tiny until their first use. Kernels before 6.7 count them as used once the size of any instance
 * is set, and keep them tiny: the next user of the top level would lose nearly everything. */
static void restore_top_size(const char *root, const char *before)
{
	_cleanup_(freep) char *after = read_top_size(root), *whole = NULL;
	char path[4096];

	if (!before || !after || !strcmp(before, after) ||
	    str_leading_u64(before, 10) != str_leading_u64(after, 10))
		return;
	whole = setting_text_to_write("buffer_size_kb", before);
	if (whole && !fs_join(path, sizeof(path), root, "buffer_size_kb"))
		setting_write(path, whole);
}

static int make_private_instance(const struct setup *s, const struct ftrace_settings *settings,
				 struct instance *i, uint32_t *ret_kb)
{
	_cleanup_(freep) char *top_size = read_top_size(s->root);
	struct err_text e;
	int r = instance_make(i, s->root, s->session_id, &e);

	if (r) {
		setup_error_set_fatal(s->errors, "%s", e.text);
		return r;
	}
	session_instance_set_clock(s, settings, i);
	*ret_kb = ring_size_set(i, settings, s->errors);
	restore_top_size(s->root, top_size);
	return 0;
}

/* ---- kept instances ---- */

static bool is_kept_name(const char *name)
{
	size_t len = strlen(name);

	return len <= KEPT_NAME_MAX && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* Makes the config's kept_instance, or continues it with its clock and its rings. Returns 0, or
 * -errno with a fatal setup error. */
static int open_kept_instance(const struct setup *s, const struct ftrace_settings *settings,
			      struct instance *i, uint32_t *ret_kb)
{
	const char *name = s->config->kept_instance;
	struct err_text e;
	bool is_old;
	int r;

	if (!s->for_root)
		r = err_set(&e, -EPERM, "kept_instance: only root may use this field");
	else if (!is_kept_name(name))
		r = err_set(&e, -EINVAL,
			    "kept_instance \"%.*s\": expected a name of up to %d lower-case "
			    "letters, digits and dashes",
			    SHOWN, name, KEPT_NAME_MAX);
	else
		r = instance_make_kept(i, s->root, name, &is_old, &e);
	if (r) {
		setup_error_set_fatal(s->errors, "nothing is recorded: %s", e.text);
		return r;
	}
	if (is_old) {
		*ret_kb = settings->buffer_size_kb;
		return 0;
	}
	session_instance_set_clock(s, settings, i);
	*ret_kb = ring_size_set(i, settings, s->errors);
	return 0;
}

/* ---- attached instances ---- */

static int attach_existing(const struct setup *s, struct instance *i)
{
	const struct override_target top = {.root = s->root, .subdir = "", .state = s->state_root};
	const char *name = s->config->instance_name;
	struct err_text e;
	int r;

	if (name && *name)
		r = session_instance_attach_named(i, s->root, s->state_root, name, &e);
	else
		r = instance_attach(i, &top, &e);
	if (!r && instance_is_held_by_others(i, "current_tracer") &&
	    !s->config->enable_function_graph) {
		/* The other session cannot reset its tracer while our rings are open. */
		instance_remove(i);
		r = err_set(&e, -EBUSY,
			    "another recording is already tracing functions in this instance");
	}
	if (r)
		setup_error_set_fatal(s->errors, "nothing is recorded: %s", e.text);
	return r;
}

/* Refuses an instance with a tracer of another process: clearing would destroy its output. */
static int check_tracer(const struct setup *s, const struct instance *i)
{
	_cleanup_(freep) char *tracer = instance_read(i, "current_tracer");

	if (!tracer || str_starts(tracer, "nop\n") || !*tracer)
		return 0;
	setup_error_set_fatal(
		s->errors,
		"nothing is recorded: instance_name \"%s\" is in use: its current_tracer "
		"is %.*s (preserve_ftrace_buffer records without clearing it)",
		s->config->instance_name, (int)strcspn(tracer, "\n"), tracer);
	return -EBUSY;
}

static void report_other_reader(const struct setup *s, const struct instance *i)
{
	struct foreign_reader other;

	if (foreign_reader_find(i->path, s->proc_root, &other))
		setup_error_add(s->errors,
				"option:%s (%s, pid %d, reads the same rings: each reader gets "
				"only part of the events)",
				s->config->preserve_ftrace_buffer ? "preserve_ftrace_buffer"
								  : "instance_name",
				other.name, other.pid);
}

/* Leaves the rings unchanged: another session records there, or the records must be kept. */
static void keep_ring(const struct setup *s, const struct ftrace_settings *settings,
		      struct instance *i, uint32_t *ret_kb)
{
	i->keeps_ring = true;
	*ret_kb = instance_ring_kb(i);
	instance_keep_ring(i);
	if (s->config->buffer_size_kb && settings->buffer_size_kb > *ret_kb)
		setup_error_add(s->errors,
				"option:buffer_size_kb (%u: rings in use cannot be resized; "
				"keeping %u KiB)",
				settings->buffer_size_kb, *ret_kb);
	if (settings->mono_raw_clock && instance_clock(i) != FTRACE_CLOCK_MONO_RAW)
		setup_error_add(s->errors, "option:use_monotonic_raw_clock (the clock of an "
					   "instance in use cannot be changed)");
}

/* Stops and clears the rings of an attached instance, and sets clock and size. Returns 0 with the
 * KiB of a ring, or -errno with a fatal setup error. */
static int reset_ring(const struct setup *s, const struct ftrace_settings *settings,
		      struct instance *i, uint32_t *ret_kb)
{
	int r = check_tracer(s, i);

	if (!r)
		r = instance_write(i, "tracing_on", "0");
	if (!r)
		r = instance_clear(i);
	if (r) {
		setup_error_set_fatal(s->errors, "nothing is recorded: cannot prepare %s: %s",
				      i->path, strerror(-r));
		return r;
	}
	session_instance_set_clock(s, settings, i);
	*ret_kb = instance_ring_kb(i);
	/* The owner's sizes are kept if the config sets none and the rings are large enough. */
	if (s->config->buffer_size_kb || s->config->subbuf_size_kb ||
	    *ret_kb < settings->buffer_size_kb) {
		instance_save_sizes(i);
		*ret_kb = ring_size_set(i, settings, s->errors);
	}
	return 0;
}

/* Allows only root to record in an existing instance: its rings, clock and events belong to
 * another tracer. */
static int check_consumer(const struct setup *s)
{
	if (s->for_root)
		return 0;
	setup_error_set_fatal(
		s->errors,
		"nothing is recorded: only root may use %s, because the rings belong to "
		"another tracer",
		s->config->preserve_ftrace_buffer ? "preserve_ftrace_buffer" : "instance_name");
	return -EPERM;
}

/* Attaches to an existing instance, and resets its rings unless they are to be kept. Returns 0 with
 * the KiB of a ring, or -errno with a fatal setup error. */
static int use_existing_instance(const struct setup *s, const struct ftrace_settings *settings,
				 struct instance *i, uint32_t *ret_kb)
{
	int r = check_consumer(s);

	if (!r)
		r = attach_existing(s, i);
	if (r)
		return r;
	report_other_reader(s, i);
	if (settings->preserve || instance_has_other_sessions(i))
		keep_ring(s, settings, i, ret_kb);
	else
		r = reset_ring(s, settings, i, ret_kb);
	if (r)
		instance_remove(i);
	return r;
}

/* ---- opening ---- */

int session_instance_open(const struct setup *s, const struct ftrace_settings *settings,
			  struct instance *ret, uint32_t *ret_buffer_kb)
{
	const Pb__FtraceConfig *c = s->config;

	if (!s->root) {
		setup_error_set_fatal(s->errors,
				      "no tracefs is accessible to this process: mount it at "
				      "/sys/kernel/tracing, and run as root");
		return -ENOENT;
	}
	if ((c->instance_name && *c->instance_name) || c->preserve_ftrace_buffer)
		return use_existing_instance(s, settings, ret, ret_buffer_kb);
	if (c->kept_instance && *c->kept_instance)
		return open_kept_instance(s, settings, ret, ret_buffer_kb);
	return make_private_instance(s, settings, ret, ret_buffer_kb);
}

void session_instance_report_conflicts(const struct setup *s)
{
	const char *file = instance_refused_file(s->instance);

	if (file)
		setup_error_add(s->errors,
				"option:instance_name (another recording is using %s: cannot "
				"change its %s)",
				s->instance->path, file);
}

#define FOUND_MAX 20 /* further changes are not listed */
#define SENTENCE_MAX 300

/* ---- changes that were found ---- */

static void add_foreign_change(struct foreign_changes *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void add_foreign_change(struct foreign_changes *f, const char *fmt, ...)
{
	char sentence[SENTENCE_MAX];
	char **longer;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (tracefs_list_size(f->found) >= FOUND_MAX)
		return;
	for (char **at = f->found; at && *at; at++)
		if (!strcmp(*at, sentence))
			return;
	longer = tracefs_list_add(f->found, sentence);
	if (longer)
		f->found = longer;
}

/* ---- at the start ---- */

static void store_setting(struct foreign_changes *f, const struct instance *i, const char *file)
{
	_cleanup_(freep) char *value = instance_read(i, file);
	char **longer = value ? tracefs_list_add(f->settings, file) : NULL;

	if (!longer)
		return;
	f->settings = longer;
	longer = tracefs_list_add(f->settings, value);
	if (longer)
		f->settings = longer;
}

void foreign_changes_begin(struct foreign_changes *f, const struct instance *i,
			   const struct event_selection *events, bool pauses)
{
	static const char *const files[] = {"trace_clock", "tracing_cpumask", "current_tracer"};
	int fd = -1;

	if (!instance_is_own(i))
		return;
	if (!pauses)
		fd = instance_open(i, "tracing_on", O_RDONLY);
	f->tracing_on = fd >= 0 ? fd + 1 : 0;
	for (size_t n = 0; n < ARRAY_SIZE(files); n++)
		store_setting(f, i, files[n]);
	for (size_t n = 0; n < events->n; n++) {
		const struct event_name *e = &events->events[n];
		char file[600];

		snprintf(file, sizeof(file), "events/%s/%s/filter", e->group, e->name);
		if (e->filter)
			store_setting(f, i, file);
	}
	f->events = instance_read(i, "set_event");
}

/* ---- while it records, and at the end ---- */

static bool recording_is_off(const struct foreign_changes *f)
{
	char value;

	return f->tracing_on && pread(f->tracing_on - 1, &value, 1, 0) == 1 && value == '0';
}

/* Returns true if the ring was cleared since the last read: the kernel then restarts its count of
 * read records. */
static bool is_cleared(const struct ring_listener *l, const struct ring_stats *now)
{
	for (unsigned i = 0; i < l->n_streams; i++)
		if (l->streams[i].cpu == now->cpu)
			return now->read_events < l->streams[i].events + l->streams[i].left_out;
	return false;
}

void foreign_changes_check_recording(struct foreign_changes *f)
{
	if (f->events && recording_is_off(f))
		add_foreign_change(f, "tracing_on was set to 0");
}

void foreign_changes_check(struct foreign_changes *f, const struct ring_listener *l,
			   const struct ring_stats_all *now)
{
	/* A session that did not begin, or that uses the instance of another tracer. */
	if (!f->events)
		return;
	foreign_changes_check_recording(f);
	for (size_t i = 0; i < now->n; i++)
		if (is_cleared(l, &now->rings[i]))
			add_foreign_change(f, "the rings were cleared");
}

/* Adds a change if `name` ("GROUP:NAME", len bytes) is not in `now`, the current text of set_event.
 * Events that were removed from the kernel are reported elsewhere. */
static void check_event(struct foreign_changes *f, const struct instance *i, const char *name,
			size_t len, const char *now)
{
	char line[300], file[320];
	_cleanup_(freep) char *path = NULL;
	char *colon;

	snprintf(line, sizeof(line), "%.*s\n", (int)len, name);
	if (strstr(now, line))
		return;
	line[len < sizeof(line) ? len : sizeof(line) - 1] = '\0';
	colon = strchr(line, ':');
	if (!colon)
		return;
	*colon = '/';
	snprintf(file, sizeof(file), "events/%s", line);
	path = instance_make_path(i, file);
	if (path && fs_exists(path))
		add_foreign_change(f, "%s was disabled", line);
}

static void check_events(struct foreign_changes *f, const struct instance *i)
{
	_cleanup_(freep) char *now = instance_read(i, "set_event");

	for (const char *at = f->events; now && *at;) {
		size_t len = strcspn(at, "\n");

		check_event(f, i, at, len, now);
		at += len + (at[len] == '\n');
	}
}

void foreign_changes_check_settings(struct foreign_changes *f, const struct instance *i)
{
	if (!f->events)
		return;
	for (char **at = f->settings; at && at[0] && at[1]; at += 2) {
		_cleanup_(freep) char *now = instance_read(i, at[0]);

		if (now && strcmp(now, at[1]) != 0)
			add_foreign_change(f, "%s was changed", at[0]);
	}
	check_events(f, i);
}

void foreign_changes_end(struct foreign_changes *f)
{
	if (f->tracing_on)
		close(f->tracing_on - 1);
	f->tracing_on = 0;
}

void foreign_changes_deinit(struct foreign_changes *f)
{
	foreign_changes_end(f);
	tracefs_list_free(f->settings);
	tracefs_list_free(f->found);
	free(f->events);
	*f = (struct foreign_changes){0};
}

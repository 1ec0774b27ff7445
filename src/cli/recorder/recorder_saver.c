/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_saver.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/recorder/recorder_triggers.h"
#include "cli/terminal/programs.h"

#define SUFFIX ".pftrace"
#define FILES_LISTED 4096 /* snapshots that are looked at */

/* A trigger and the start time of its last snapshot. */
struct saved_trigger {
	char name[64];
	uint64_t began_ns;
};

struct recorder_saver {
	struct recorder_saver_setup setup;
	struct event *on_child; /* owned: SIGCHLD */
	struct recorder_saver_counts counts;
	struct log_limit skips;
	struct saved_trigger
		triggers[RECORDER_TRIGGERS_MAX + 3]; /* and "recorder", "signal", "alert" */
	size_t n_triggers;
	uint64_t began_ns; /* when the last snapshot began, on CLOCK_MONOTONIC; 0: none */
	time_t time; /* of the last snapshot, on CLOCK_REALTIME */
	pid_t pid; /* of the process that writes; 0: none */
	char path[PATH_MAX]; /* of the file that it writes */
	char trigger[64], reason[256];
	char next_trigger[64], next_reason[256]; /* to be saved after that; "": none */
	struct alert *alert, *next_alert; /* owned; NULL: no alert */
};

/* ---- old snapshots ---- */

struct saved_file {
	char name[NAME_MAX + 1];
	uint64_t bytes;
};

struct saved_files {
	const char *dir; /* borrowed */
	struct saved_file *of; /* owned */
	size_t n, cap;
	uint64_t bytes;
};

static int saved_files_add(void *ctx, const char *name, unsigned char d_type)
{
	struct saved_files *l = ctx;
	char path[PATH_MAX];
	struct stat st;

	if (!str_ends(name, SUFFIX) || name[0] < '0' || name[0] > '9' || l->n == FILES_LISTED ||
	    fs_join(path, sizeof(path), l->dir, name) || lstat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (array_reserve(&l->of, &l->cap, l->n + 1, sizeof(*l->of)))
		return -ENOMEM;
	snprintf(l->of[l->n].name, sizeof(l->of[l->n].name), "%s", name);
	l->of[l->n++].bytes = (uint64_t)st.st_size;
	l->bytes += (uint64_t)st.st_size;
	return 0;
}

static int saved_file_compare(const void *a, const void *b)
{
	return strcmp(((const struct saved_file *)a)->name, ((const struct saved_file *)b)->name);
}

static void saved_file_remove(const char *dir, const char *name)
{
	char path[PATH_MAX], json[PATH_MAX];

	if (fs_join(path, sizeof(path), dir, name))
		return;
	unlink(path);
	if (snprintf(json, sizeof(json), "%s.json", path) < (int)sizeof(json))
		unlink(json);
}

/* Returns "-NAME.pftrace" of "TIME-NAME.pftrace", by which the snapshots of one trigger are
 * counted. */
static const char *saved_file_trigger(const struct saved_file *f)
{
	const char *dash = strchr(f->name, '-');

	return dash ? dash : "";
}

/* Returns the oldest snapshot of the trigger that has the most: a trigger that fires again and
 * again does not push out the snapshots of others. */
static size_t saved_files_choose(const struct saved_files *l)
{
	size_t best = 0, most = 0;

	for (size_t i = 0; i < l->n; i++) {
		size_t n = 0;

		for (size_t k = i; k < l->n; k++)
			n += !strcmp(saved_file_trigger(&l->of[i]), saved_file_trigger(&l->of[k]));
		if (n > most) {
			most = n;
			best = i;
		}
	}
	return best;
}

/* Removes snapshots above the limits, but keeps one. Their names begin with their time. */
static void recorder_saver_prune(const struct recorder_saver *s, const char *dir)
{
	struct saved_files l = {.dir = dir};

	fs_each(dir, saved_files_add, &l);
	if (l.n)
		qsort(l.of, l.n, sizeof(*l.of), saved_file_compare);
	while (l.n > 1 && (l.n > s->setup.max_files || l.bytes > s->setup.max_bytes)) {
		size_t i = saved_files_choose(&l);

		saved_file_remove(dir, l.of[i].name);
		l.bytes -= l.of[i].bytes;
		memmove(&l.of[i], &l.of[i + 1], (--l.n - i) * sizeof(*l.of));
	}
	free(l.of);
}

/* ---- a snapshot ---- */

static void write_reason(const struct recorder_saver *s, uint64_t took_ms)
{
	_cleanup_(closep) int fd = -1;
	struct strbuf b = {0};
	char path[PATH_MAX], when[32] = "";
	struct stat st = {0};
	struct tm tm;

	if (gmtime_r(&s->time, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	stat(s->path, &st);
	strbuf_puts(&b, "{\"trigger\":");
	strbuf_put_json(&b, s->trigger);
	strbuf_puts(&b, ",\"reason\":");
	strbuf_put_json(&b, s->reason);
	if (s->alert) {
		strbuf_puts(&b, ",\"alert\":");
		alert_put_json(s->alert, &b);
	}
	strbuf_printf(&b, ",\"time\":\"%s\",\"took_ms\":%" PRIu64 ",\"bytes\":%lld}\n", when,
		      took_ms, (long long)st.st_size);
	if (b.failed || snprintf(path, sizeof(path), "%s.json", s->path) >= (int)sizeof(path))
		log_warn("cannot write %s.json, which describes the snapshot: %s", s->path,
			 strerror(b.failed ? ENOMEM : ENAMETOOLONG));
	else if ((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)) <
			 0 ||
		 fs_write_all(fd, b.s, b.len) < 0)
		log_warn("cannot write %s: %s", path, strerror(errno));
	strbuf_deinit(&b);
}

/* Appends the alert to the trace. */
static void recorder_saver_write_alert(const struct recorder_saver *s)
{
	_cleanup_(closep) int fd = open(s->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	struct strbuf packet = {0};

	alert_put_packet(s->alert, &packet);
	if (fd < 0 || packet.failed || fs_write_all(fd, packet.s, packet.len) < 0)
		log_warn("cannot add the alert to the snapshot %s: %s", s->path,
			 strerror(packet.failed ? ENOMEM : errno));
	strbuf_deinit(&packet);
}

static void recorder_saver_end_alert(struct recorder_saver *s, bool saved)
{
	if (s->alert && s->setup.on_alert_done)
		s->setup.on_alert_done(s->setup.ctx, s->alert, saved);
	free(s->alert);
	s->alert = NULL;
}

static void recorder_saver_begin_next(struct recorder_saver *s);

static void recorder_saver_on_child(evutil_socket_t fd, short what, void *ctx)
{
	struct recorder_saver *s = ctx;
	uint64_t took_ms = (clock_mono_ns() - s->began_ns) / NS_PER_MS;
	char dir[PATH_MAX], bytes[32];
	struct stat st = {0};
	int status;

	if (s->pid <= 0 || waitpid(s->pid, &status, WNOHANG) != s->pid)
		return;
	s->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		s->counts.saved++;
		if (s->alert)
			recorder_saver_write_alert(s);
		write_reason(s, took_ms);
		stat(s->path, &st);
		log_info("%s: saved %s, %s, in %" PRIu64 " ms", s->reason, s->path,
			 str_bytes((uint64_t)st.st_size, bytes), took_ms);
	} else {
		s->counts.failed++;
		log_error("%s: the snapshot was not saved", s->reason); /* it has logged why */
	}
	if (!fs_join(dir, sizeof(dir), s->setup.dir, "snapshots"))
		recorder_saver_prune(s, dir);
	s->setup.on_done(s->setup.ctx);
	recorder_saver_end_alert(s, WIFEXITED(status) && WEXITSTATUS(status) == 0);
	recorder_saver_begin_next(s);
}

/* Creates the directory, and makes the file's name from the time and the trigger, which is cut to
 * fit a name. */
static int choose_path(struct recorder_saver *s, struct err_text *e)
{
	char dir[PATH_MAX], when[32] = "";
	struct tm tm;

	s->time = time(NULL);
	if (fs_join(dir, sizeof(dir), s->setup.dir, "snapshots"))
		return err_set(e, -ENAMETOOLONG, "the path of the directory is too long: %.200s...",
			       s->setup.dir);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_set(e, -errno, "cannot create %.300s: %s", dir, strerror(errno));
	if (gmtime_r(&s->time, &tm))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	for (unsigned i = 0; i < 100; i++) {
		char more[16] = "";
		int n;

		if (i)
			snprintf(more, sizeof(more), ".%u", i);
		n = snprintf(s->path, sizeof(s->path), "%s/%s%s-%s" SUFFIX, dir, when, more,
			     s->trigger);
		if (n >= (int)sizeof(s->path))
			return err_set(e, -ENAMETOOLONG,
				       "the path of the directory is too long: %.200s...", dir);
		if (!fs_exists(s->path))
			return 0;
	}
	return err_set(e, -EEXIST, "%.300s exists", s->path);
}

static int recorder_saver_start(struct recorder_saver *s, struct err_text *e)
{
	char last[32];
	char *argv[] = {(char *)"sonda",
			(char *)"snapshot",
			(char *)"--quiet",
			(char *)"--dir",
			(char *)s->setup.dir,
			(char *)"--out",
			s->path,
			(char *)"recorder",
			(char *)"--last",
			last,
			NULL};
	int r = choose_path(s, e);

	if (r < 0)
		return r;
	snprintf(last, sizeof(last), "%us", s->setup.last_s);
	s->pid = fork();
	if (s->pid < 0) {
		s->pid = 0;
		return err_set(e, -errno, "cannot start a process: %s", strerror(errno));
	}
	if (s->pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execv(OURSELVES, argv);
		_exit(127);
	}
	return 0;
}

static void copy_trigger(char to[static 64], const char *name)
{
	snprintf(to, 64, "%s", *name ? name : "trigger");
	for (char *at = to; *at; at++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
			    *at))
			*at = '_';
}

/* Returns NULL and notes the time if the trigger may save a snapshot now, else why it may not. */
static const char *recorder_saver_admit(struct recorder_saver *s, const char *trigger)
{
	uint64_t now = clock_mono_ns();
	struct saved_trigger *t = s->triggers;

	if (s->next_trigger[0])
		return "another one is waiting to be saved";
	while (t < s->triggers + s->n_triggers && strcmp(t->name, trigger) != 0)
		t++;
	if (t == s->triggers + ARRAY_SIZE(s->triggers))
		return "too many different triggers have saved one";
	if (t == s->triggers + s->n_triggers) {
		snprintf(t->name, sizeof(t->name), "%s", trigger);
		s->n_triggers++;
	} else if (now - t->began_ns < s->setup.pause_ms * NS_PER_MS) {
		return "the last one for this trigger was less than --pause ago";
	}
	t->began_ns = now;
	return NULL;
}

static void recorder_saver_begin_next(struct recorder_saver *s)
{
	struct err_text e;

	if (!s->next_trigger[0])
		return;
	memcpy(s->trigger, s->next_trigger, sizeof(s->trigger));
	memcpy(s->reason, s->next_reason, sizeof(s->reason));
	s->next_trigger[0] = '\0';
	s->alert = TAKE_PTR(s->next_alert);
	s->began_ns = clock_mono_ns();
	if (recorder_saver_start(s, &e) == 0)
		return;
	s->counts.failed++;
	log_error("%s: the snapshot was not saved: %s", s->reason, e.text);
	s->setup.on_done(s->setup.ctx);
	recorder_saver_end_alert(s, false);
}

/* Queues a snapshot, and begins it if no other one is being written. Becomes the owner of alert,
 * which may be NULL. Returns false, and frees the alert, if the snapshot is skipped: another one is
 * queued, or the last one was less than --pause ago. */
static bool recorder_saver_queue(struct recorder_saver *s, const char *trigger, const char *reason,
				 struct alert *alert)
{
	const char *why;
	char name[64];

	copy_trigger(name, trigger);
	why = recorder_saver_admit(s, name);
	if (why) {
		s->counts.skipped++;
		log_write_limited(&s->skips, LOG_LEVEL_WARN, "%s: no snapshot saved, because %s",
				  reason, why);
		s->setup.on_done(s->setup.ctx);
		free(alert);
		return false;
	}
	s->next_alert = alert;
	memcpy(s->next_trigger, name, sizeof(name));
	snprintf(s->next_reason, sizeof(s->next_reason), "%s", reason);
	str_make_plain(s->next_reason, strlen(s->next_reason), "");
	if (!s->pid)
		recorder_saver_begin_next(s);
	return true;
}

void recorder_saver_handle_trigger(struct recorder_saver *s, const char *trigger,
				   const char *reason)
{
	recorder_saver_queue(s, trigger, reason, NULL);
}

bool recorder_saver_handle_alert(struct recorder_saver *s, const struct alert *a)
{
	struct alert *copy = malloc(sizeof(*copy));
	char reason[256];

	snprintf(reason, sizeof(reason), "alert %.100s since %s", alert_find_label(a, "alertname"),
		 a->starts_at);
	str_make_plain(reason, strlen(reason), "");
	if (!copy) {
		s->counts.failed++;
		log_write_limited(&s->skips, LOG_LEVEL_ERROR,
				  "%s: the snapshot was not saved: out of memory", reason);
		s->setup.on_done(s->setup.ctx);
		return false;
	}
	*copy = *a;
	return recorder_saver_queue(s, "alert", reason, copy);
}

/* ---- life ---- */

struct recorder_saver *recorder_saver_new(const struct recorder_saver_setup *setup)
{
	struct recorder_saver *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->setup = *setup;
	s->on_child = evsignal_new(setup->loop, SIGCHLD, recorder_saver_on_child, s);
	if (!s->on_child || event_add(s->on_child, NULL)) {
		recorder_saver_free(s);
		return NULL;
	}
	return s;
}

void recorder_saver_free(struct recorder_saver *s)
{
	if (!s)
		return;
	if (s->pid > 0) {
		kill(s->pid, SIGTERM);
		waitpid(s->pid, NULL, 0);
	}
	event_freep(&s->on_child);
	free(s->alert);
	free(s->next_alert);
	free(s);
}

struct recorder_saver_counts recorder_saver_counts(const struct recorder_saver *s)
{
	return s->counts;
}

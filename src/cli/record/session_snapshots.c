// SPDX-License-Identifier: Apache-2.0
#include "cli/record/session_snapshots.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "cli/terminal/console.h"
#include "cli/record/session_snapshot.h"
#include "cli/trace/trace_file.h"

#define MAX_NUMBERS_TRIED 10000 /* that others took */

struct job {
	TAILQ_ENTRY(job) link;
	struct session_snapshots *owner;
	Pb__ObservableEvents__CloneTriggerHit *hit; /* owned */
	struct session_snapshot *snapshot; /* owned; NULL: it waits */
};
TAILQ_HEAD(job_list, job);

struct session_snapshots {
	struct session_snapshots_setup setup;
	char *address; /* owned */
	struct job_list running, waiting; /* owned; the oldest first */
	size_t n_running, n_waiting;
	unsigned next; /* number of a file */
};

int session_snapshots_check_path(const char *path, struct err_text *e)
{
	struct trace_file *file;
	struct stat st;
	int r;

	if (!strcmp(path, "-"))
		return err_set(e, -EINVAL,
			       "each snapshot is a file of its own, standard output is one: give a "
			       "name with -o");
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(
			e, -EINVAL,
			"each snapshot is a file of its own beside %s, which is no file: give "
			"another name with -o",
			path);
	/* Better now than when something has happened. */
	r = trace_file_open(path, e, &file);
	if (r == 0)
		trace_file_free(file);
	return r;
}

/* ---- the end of one ---- */

static void tell_saved(struct job *j, const char *name, const char *cut)
{
	struct session_snapshots *s = j->owner;
	const struct snapshot_facts facts = {
		.config = s->setup.config,
		.hit = j->hit,
		.name = name,
		.bytes = trace_file_bytes(session_snapshot_file(j->snapshot)),
		.cut = cut,
	};
	const char *line =
		snapshot_log_saved(s->setup.log, &facts, session_snapshot_scan(j->snapshot));

	console_say(s->setup.console, "snapshot %s", line);
}

static void tell_failed(struct session_snapshots *s,
			const Pb__ObservableEvents__CloneTriggerHit *hit, const char *why)
{
	console_error(s->setup.console, "snapshot %s", snapshot_log_failed(s->setup.log, hit, why));
}

static int name_file(const struct session_snapshots *s, char path[static PATH_MAX],
		     struct err_text *e)
{
	if (fs_numbered(path, PATH_MAX, s->setup.path, s->next, 1) == 0)
		return 0;
	return err_set(e, -ENAMETOOLONG, "the name of its file is too long");
}

/* Under the first number that is free. */
static void save(struct job *j)
{
	struct session_snapshots *s = j->owner;
	struct trace_file *file = session_snapshot_file(j->snapshot);
	struct err_text why = {0};
	char path[PATH_MAX];
	int r = -EEXIST;

	for (unsigned tries = 0; r == -EEXIST && tries < MAX_NUMBERS_TRIED; tries++) {
		r = name_file(s, path, &why);
		if (r == 0)
			r = trace_file_save_new(file, path, &why);
		s->next += r >= 0 || r == -EEXIST;
	}
	if (r < 0)
		tell_failed(s, j->hit, why.text);
	else
		tell_saved(j, path, r > 0 ? why.text : NULL);
}

static void free_job(struct job *j)
{
	session_snapshot_free(j->snapshot);
	if (j->hit)
		protobuf_c_message_free_unpacked(&j->hit->base, NULL);
	free(j);
}

static void start_waiting(struct session_snapshots *s);

static void on_end(void *ctx, struct session_snapshot *snapshot, int error, const char *why)
{
	struct job *j = ctx;
	struct session_snapshots *s = j->owner;

	(void)snapshot;
	if (error)
		tell_failed(s, j->hit, why);
	else
		save(j);
	TAILQ_REMOVE(&s->running, j, link);
	s->n_running--;
	free_job(j);
	start_waiting(s);
	if (s->n_running == 0)
		s->setup.on_idle(s->setup.ctx);
}

/* ---- the beginning ---- */

static bool start(struct job *j)
{
	struct session_snapshots *s = j->owner;
	struct err_text why;
	char path[PATH_MAX];

	if (name_file(s, path, &why) ||
	    session_snapshot_start(s->setup.loop, s->address, j->hit, path, on_end, j, &why,
				   &j->snapshot)) {
		tell_failed(s, j->hit, why.text);
		free_job(j);
		return false;
	}
	TAILQ_INSERT_TAIL(&s->running, j, link);
	s->n_running++;
	return true;
}

static void start_waiting(struct session_snapshots *s)
{
	struct job *j;

	while (s->n_running < SNAPSHOTS_AT_ONCE && (j = TAILQ_FIRST(&s->waiting))) {
		TAILQ_REMOVE(&s->waiting, j, link);
		s->n_waiting--;
		start(j);
	}
}

static Pb__ObservableEvents__CloneTriggerHit *copy_hit(
	const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	size_t len = protobuf_c_message_get_packed_size(&hit->base);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	if (!bytes)
		return NULL;
	protobuf_c_message_pack(&hit->base, bytes);
	return (void *)protobuf_c_message_unpack(hit->base.descriptor, NULL, len, bytes);
}

bool session_snapshots_take(struct session_snapshots *s,
			    const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	struct job *j;

	if (s->n_waiting == SNAPSHOTS_WAITING) {
		tell_failed(s, hit, "too many triggers: as many snapshots as can wait are waiting");
		return false;
	}
	j = calloc(1, sizeof(*j));
	if (j)
		j->hit = copy_hit(hit);
	if (!j || !j->hit) {
		free(j);
		tell_failed(s, hit, "no memory");
		return false;
	}
	j->owner = s;
	if (s->n_running < SNAPSHOTS_AT_ONCE)
		return start(j);
	TAILQ_INSERT_TAIL(&s->waiting, j, link);
	s->n_waiting++;
	return true;
}

/* ---- all ---- */

struct session_snapshots *session_snapshots_new(const struct session_snapshots_setup *setup)
{
	struct session_snapshots *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->setup = *setup;
	TAILQ_INIT(&s->running);
	TAILQ_INIT(&s->waiting);
	s->address = strdup(setup->address);
	if (!s->address) {
		session_snapshots_free(s);
		return NULL;
	}
	return s;
}

static void drop_all(struct session_snapshots *s, struct job_list *list)
{
	struct job *j;

	while ((j = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, j, link);
		tell_failed(s, j->hit, "the recording has ended before");
		free_job(j);
	}
}

void session_snapshots_free(struct session_snapshots *s)
{
	if (!s)
		return;
	drop_all(s, &s->running);
	drop_all(s, &s->waiting);
	free(s->address);
	free(s);
}

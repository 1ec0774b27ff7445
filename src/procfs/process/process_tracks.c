/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_tracks.h"

#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/fnv.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "client/transport/writer.h"
#include "gen/fields.h"

/*
 * A reused id needs a new track: a track is identified by the id and its incarnation, the time at
 * which a pass first met the new owner of the id. The first owner of an id has no incarnation, so
 * that its track equals that of other sources. A thread has exited if a pass does not meet it. If
 * its id is met in another process, or with less CPU time than before, it is another thread.
 */

#define EVENT_INSTANT 3 /* TrackEvent.Type */
#define STATE_NEEDED 2 /* TracePacket.SequenceFlags */

struct thread_usage {
	int32_t tid;
	int32_t pid;
	uint32_t pass; /* last pass that met the thread */
	uint32_t group; /* handles of tracks */
	uint32_t run;
	uint32_t wait;
	uint64_t run_ns;
	UT_hash_handle hh;
};

static const struct {
	const char *name;
	const char *description;
	enum track_unit unit;
} io_tracks[PROC_IO_KEYS] = {
	[PROC_IO_RCHAR] = {"io.rchar",
			   "Bytes read by system calls, including from caches and pipes",
			   TRACK_UNIT_BYTES},
	[PROC_IO_WCHAR] = {"io.wchar",
			   "Bytes written by system calls, including to caches and pipes",
			   TRACK_UNIT_BYTES},
	[PROC_IO_SYSCR] = {"io.syscr", "System calls that read", TRACK_UNIT_COUNT},
	[PROC_IO_SYSCW] = {"io.syscw", "System calls that write", TRACK_UNIT_COUNT},
	[PROC_IO_READ_BYTES] = {"io.read_bytes", "Bytes fetched from storage", TRACK_UNIT_BYTES},
	[PROC_IO_WRITE_BYTES] = {"io.write_bytes", "Bytes sent to storage", TRACK_UNIT_BYTES},
	[PROC_IO_CANCELLED_WRITE_BYTES] = {"io.cancelled_write_bytes",
					   "Bytes not written to storage because of truncation",
					   TRACK_UNIT_BYTES},
};

int process_tracks_init(struct process_tracks *u, struct task_table *tasks, struct writer *w,
			struct writer *thread_writer)
{
	int r = tracks_new("linux.process_stats", w, &u->tracks);

	u->tasks = tasks;
	u->writer = w;
	u->thread_writer = thread_writer;
	if (r == 0 && thread_writer)
		tracks_set_thread_writer(u->tracks, thread_writer);
	return r;
}

static void free_thread(struct process_tracks *u, struct thread_usage *t)
{
	HASH_DEL(u->by_tid, t);
	free(t);
}

void process_tracks_deinit(struct process_tracks *u)
{
	struct thread_usage *t, *tmp;

	pid_list_close(&u->threads);
	HASH_ITER (hh, u->by_tid, t, tmp)
		free_thread(u, t);
	tracks_free(u->tracks);
	u->tracks = NULL;
}

static uint64_t incarnation_of_task(const struct process_tracks *u, int32_t tid)
{
	return task_table_find(u->tasks, tid)->has_exited ? u->now : 0;
}

/* ---- processes ---- */

static void read_io(struct process_tracks *u, struct proc_files *f, int32_t pid,
		    struct process_tracks_row *row)
{
	struct proc_io io;

	if (proc_files_read_io(f, pid, &io) < 0)
		return;
	for (unsigned k = 0; k < PROC_IO_KEYS; k++) {
		if (!(io.has >> k & 1))
			continue;
		if (!row->io[k])
			row->io[k] = tracks_add(u->tracks,
						&(struct track_spec){
							.kind = TRACK_COUNTER,
							.parent = row->group,
							.name = io_tracks[k].name,
							.description = io_tracks[k].description,
							.unit = io_tracks[k].unit,
							.total = true,
						});
		tracks_set(u->tracks, row->io[k], (int64_t)io.v[k]);
	}
	row->has_io = true;
}

static uint64_t process_tracks_hash_path(struct span s)
{
	return fnv1a(FNV1A_START, s.p, s.len) | 1;
}

static void write_instant(struct process_tracks *u, uint64_t uuid, struct span name)
{
	struct pb_enc *e;

	/* No track packet may be open. */
	tracks_end(u->tracks);
	e = writer_begin(u->writer);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, u->now);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_EVENT);
	pb_enc_u64(e, PB_TRACK_EVENT_TYPE, EVENT_INSTANT);
	pb_enc_u64(e, PB_TRACK_EVENT_TRACK_UUID, uuid);
	pb_enc_bytes(e, PB_TRACK_EVENT_NAME, name.p, name.len);
	pb_enc_close(e);
	writer_end(u->writer);
}

static bool is_cgroup_written(const struct process_tracks *u, const struct process_tracks_row *row)
{
	return row->cgroup_hash && row->cgroup_clears == u->clears;
}

/* Counts a poll. Returns true if the control group of the process need not be read. Another process
 * may move one that sleeps. That is rare, and the read takes a lock of all control groups, so it is
 * found at every SAME_CGROUP_TIMES-th poll; these are spread over the polls. */
#define SAME_CGROUP_TIMES 16

static bool decide_to_skip_cgroup(const struct process_tracks *u, int32_t pid, bool idle,
				  struct process_tracks_row *row)
{
	row->polls++;
	return idle && is_cgroup_written(u, row) &&
	       (row->polls + (unsigned)pid) % SAME_CGROUP_TIMES != 0;
}

static void read_cgroup(struct process_tracks *u, struct proc_files *f, int32_t pid,
			struct process_tracks_row *row)
{
	struct span path;
	uint64_t hash, uuid;

	if (proc_files_read_cgroup(f, pid, &path) < 0)
		return;
	hash = process_tracks_hash_path(path);
	if (hash == row->cgroup_hash && is_cgroup_written(u, row))
		return;
	if (!row->cgroup)
		row->cgroup = tracks_add(u->tracks, &(struct track_spec){
							    .kind = TRACK_GROUP,
							    .parent = row->group,
							    .name = "cgroup",
						    });
	uuid = tracks_get_uuid(u->tracks, row->cgroup);
	if (!uuid)
		return;
	write_instant(u, uuid, path);
	row->cgroup_hash = hash;
	row->cgroup_clears = u->clears;
}

void process_tracks_begin(struct process_tracks *u)
{
	u->now = clock_boot_ns();
	tracks_begin(u->tracks, u->now);
}

void process_tracks_read_process(struct process_tracks *u, struct proc_files *f, int32_t pid,
				 bool idle, struct process_tracks_row *row)
{
	process_tracks_begin(u);
	if (!row->group && (u->options.io || u->options.cgroup))
		row->group =
			tracks_add(u->tracks, &(struct track_spec){
						      .kind = TRACK_PROCESS,
						      .pid = pid,
						      .incarnation = incarnation_of_task(u, pid),
					      });
	if (u->options.io && !(idle && row->has_io))
		read_io(u, f, pid, row);
	if (u->options.cgroup && !decide_to_skip_cgroup(u, pid, idle, row))
		read_cgroup(u, f, pid, row);
	/* The process may have exited by now. */
	if (u->options.sched)
		(void)pid_list_open(&u->threads, f->root, pid);
}

void process_tracks_remove_process(struct process_tracks *u, int32_t pid,
				   struct process_tracks_row *row)
{
	if (row->group)
		tracks_remove(u->tracks, row->group);
	task_table_add(u->tasks, pid)->has_exited = true;
	*row = (struct process_tracks_row){0};
}

/* ---- threads ---- */

static uint32_t process_tracks_add_counter(struct process_tracks *u, uint32_t parent,
					   const char *name, const char *description)
{
	return tracks_add(u->tracks, &(struct track_spec){
					     .kind = TRACK_COUNTER,
					     .parent = parent,
					     .name = name,
					     .description = description,
					     .unit = TRACK_UNIT_NS,
					     .total = true,
				     });
}

static void add_tracks(struct process_tracks *u, struct thread_usage *t)
{
	t->group = tracks_add(u->tracks, &(struct track_spec){
						 .kind = TRACK_THREAD,
						 .pid = t->pid,
						 .tid = t->tid,
						 .incarnation = incarnation_of_task(u, t->tid),
					 });
	t->run = process_tracks_add_counter(u, t->group, "sched.run_ns", "Time on a CPU");
	t->wait = process_tracks_add_counter(u, t->group, "sched.wait_ns",
					     "Time runnable, waiting for a CPU");
}

static void remove_thread_tracks(struct process_tracks *u, struct thread_usage *t)
{
	tracks_remove(u->tracks, t->group);
	task_table_add(u->tasks, t->tid)->has_exited = true;
}

/* Returns the entry of the thread; an entry of another thread that had the id gets new tracks.
 * Returns NULL if memory runs out. */
static struct thread_usage *find_or_add_thread(struct process_tracks *u, int32_t tid,
					       uint64_t run_ns)
{
	struct thread_usage *t;

	HASH_FIND_INT(u->by_tid, &tid, t);
	if (t && t->pid == u->threads.pid && t->run_ns <= run_ns)
		return t;
	if (t) {
		remove_thread_tracks(u, t);
	} else {
		t = calloc(1, sizeof(*t));
		if (!t)
			return NULL;
		t->tid = tid;
		HASH_ADD_INT(u->by_tid, tid, t);
		if (!t->hh.tbl) {
			free(t);
			return NULL;
		}
	}
	t->pid = u->threads.pid;
	add_tracks(u, t);
	return t;
}

static void read_thread(struct process_tracks *u, struct proc_files *f, int32_t tid)
{
	struct proc_schedstat s;
	struct thread_usage *t;

	if (proc_files_read_thread_schedstat(f, &u->threads, tid, &s) < 0)
		return;
	t = find_or_add_thread(u, tid, s.run_ns);
	if (!t)
		return;
	t->pass = u->pass;
	t->run_ns = s.run_ns;
	tracks_set(u->tracks, t->run, (int64_t)s.run_ns);
	tracks_set(u->tracks, t->wait, (int64_t)s.wait_ns);
}

bool process_tracks_read_thread(struct process_tracks *u, struct proc_files *f, int32_t *ret_tid)
{
	if (!pid_list_is_open(&u->threads))
		return false;
	if (!pid_list_next(&u->threads, ret_tid)) {
		pid_list_close(&u->threads);
		return false;
	}
	read_thread(u, f, *ret_tid);
	return true;
}

bool process_tracks_drop_exited(struct process_tracks *u)
{
	struct thread_usage *t = u->has_next ? u->next : u->by_tid;

	for (unsigned i = 0; t && i < PROCESS_TRACKS_PIECE; i++) {
		u->next = t->hh.next;
		if (t->pass != u->pass) {
			remove_thread_tracks(u, t);
			free_thread(u, t);
		}
		t = u->next;
	}
	u->has_next = t != NULL;
	if (!t)
		u->pass++;
	return t != NULL;
}

/* ---- processes and threads ---- */

void process_tracks_end(struct process_tracks *u)
{
	tracks_end(u->tracks);
}

uint64_t process_tracks_count_refused(const struct process_tracks *u)
{
	return u->tracks ? tracks_counts(u->tracks).refused : 0;
}

bool process_tracks_flush(struct process_tracks *u)
{
	if (!u->tracks)
		return false;
	if (tracks_flush_piece(u->tracks))
		return true;
	writer_flush(u->writer);
	if (u->thread_writer)
		writer_flush(u->thread_writer);
	return false;
}

void process_tracks_clear(struct process_tracks *u)
{
	u->clears++;
	if (u->tracks)
		tracks_clear(u->tracks);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	part 7 | part 8 | part 9 | part 10 ...        on disk; 10 is being written
 *	                           part 10, buffers   the clone of the session, which sondad makes
 *
 * The clone begins with a copy of those parts that are still being written. Parts have unique ids
 * (the packet trace_uuid), by which they are found there, so no packet is in the trace twice. A
 * part without any packet has no id; its session has just begun, and the clone has all of it.
 *
 * Each session begins with an event "tracing started". trace_processor drops all kernel events
 * before the last such event, so that of a later session becomes "next session started".
 */

#include "cli/recorder/recorder_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/recorder/recorder_options.h"
#include "cli/recorder/recorder_state.h"
#include "cli/trace/session_client.h"
#include "cli/trace/trace_file.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"
#include "wire/pb_read.h"
#include "wire/pb_varint.h"

/* ---- the packets of a mapped file ---- */

struct part_map {
	uint8_t *data; /* NULL: empty */
	size_t len;
};

static void part_map_deinit(struct part_map *m)
{
	if (m->data)
		munmap(m->data, m->len);
	*m = (struct part_map){0};
}

/* Maps the bytes that an open file has now. Returns 0 or -errno. */
static int part_map_fd(int fd, struct part_map *ret)
{
	struct stat st;

	*ret = (struct part_map){0};
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!st.st_size)
		return 0;
	ret->len = (size_t)st.st_size;
	ret->data = mmap(NULL, ret->len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ret->data != MAP_FAILED)
		return 0;
	*ret = (struct part_map){0};
	return -errno;
}

static int part_map_path(const char *path, struct part_map *ret)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : part_map_fd(fd, ret);
}

/* Returns the next whole packet, or false: a part that was cut by a kill ends within one. */
static bool next_packet(struct pb_dec *d, struct pb_field *ret)
{
	while (pb_dec_next(d, ret))
		if (ret->id == PB_TRACE_PACKET && ret->data)
			return true;
	return false;
}

static bool is_tracing_started(const struct pb_field *packet)
{
	struct pb_field event = pb_inner_field(packet, PB_TRACE_PACKET_SERVICE_EVENT);
	bool started = false;

	return event.id &&
	       pb_read(&event, PB_TO(PB_TRACING_SERVICE_EVENT_TRACING_STARTED, &started)) &&
	       started;
}

/* ---- which parts the clone has ---- */

struct part_id {
	uint64_t msb, lsb;
};

static bool read_part_id(const struct pb_field *packet, struct part_id *ret)
{
	struct pb_field uuid = pb_inner_field(packet, PB_TRACE_PACKET_TRACE_UUID);

	*ret = (struct part_id){0};
	return uuid.id && pb_read(&uuid, PB_TO(PB_TRACE_UUID_MSB, &ret->msb),
				  PB_TO(PB_TRACE_UUID_LSB, &ret->lsb));
}

#define CLONED_PARTS_MAX 16 /* a session has at most eight open files */

struct snapshot_sources {
	const char *dir; /* borrowed */
	struct recorder_parts parts; /* owned */
	struct part_map clone; /* owned; empty: there is none */
	struct part_id cloned[CLONED_PARTS_MAX];
	size_t n_cloned;
	struct recorder_part
		empty; /* the newest part before the clone, if it had no bytes; else 0 */
};

static void find_cloned_parts(struct snapshot_sources *s)
{
	struct pb_field packet;
	struct pb_dec d;

	pb_dec_init(&d, s->clone.data, s->clone.len);
	while (s->n_cloned < CLONED_PARTS_MAX && next_packet(&d, &packet))
		s->n_cloned += read_part_id(&packet, &s->cloned[s->n_cloned]);
}

static bool is_cloned(const struct snapshot_sources *s, const struct part_map *part)
{
	struct pb_field packet;
	struct part_id id;
	struct pb_dec d;

	pb_dec_init(&d, part->data, part->len);
	while (s->n_cloned && next_packet(&d, &packet)) {
		if (!read_part_id(&packet, &id))
			continue;
		for (size_t i = 0; i < s->n_cloned; i++)
			if (s->cloned[i].msb == id.msb && s->cloned[i].lsb == id.lsb)
				return true;
		return false;
	}
	return false;
}

/* ---- the clone of the running session ---- */

/* Lets the service write a clone of the session into fd: a file without a name, in the directory of
 * the ring. */
static int clone_into(const struct recorder_state *state, int fd, struct err_text *e)
{
	const struct consumer_clone_request request = {.name = RECORDER_SESSION_NAME};
	struct session_client *client;
	bool written = false;
	int r = session_client_open(state->consumer, &client, e);

	if (r < 0)
		return r;
	r = session_client_clone(client, &request, fd, &written, e);
	session_client_free(client);
	if (r == 0 && !written)
		r = err_set(e, -EPROTO, "the service did not write the clone");
	return r;
}

/* Opens a file without a name: in the directory of the ring, or in memory if that is full. Returns
 * the descriptor, or -errno. */
static int open_clone_file(const char *dir)
{
	struct statvfs st;
	int fd;

	if (statvfs(dir, &st) == 0 && trace_file_room_of(&st) == 0)
		fd = memfd_create("sonda-snapshot", MFD_CLOEXEC);
	else
		fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static void save_clone(struct snapshot_sources *s, struct recorder_snapshot *ret)
{
	_cleanup_(closep) int fd = -1;
	struct recorder_state state;
	int r;

	if (!recorder_dir_is_locked(s->dir) || recorder_state_read(s->dir, &state) < 0)
		return;
	if (strcmp(state.what, "recording") != 0 || !state.consumer[0]) {
		err_set(&ret->not_live, 0, "the recorder is %.15s%s%.255s", state.what,
			state.why[0] ? ": " : "", state.why);
		return;
	}
	if (recorder_parts_read(s->dir, &s->parts) == 0 && s->parts.n &&
	    !s->parts.of[s->parts.n - 1].bytes)
		s->empty = s->parts.of[s->parts.n - 1];
	fd = open_clone_file(s->dir);
	r = fd < 0 ? err_set(&ret->not_live, fd, "cannot write to %.300s: %s", s->dir,
			     strerror(-fd))
		   : clone_into(&state, fd, &ret->not_live);
	if (r == 0 && (r = part_map_fd(fd, &s->clone)) < 0)
		err_set(&ret->not_live, r, "cannot read the newest data: %s", strerror(-r));
	find_cloned_parts(s);
}

/* ---- the trace ---- */

struct snapshot_output {
	struct trace_file *file; /* borrowed */
	bool has_begun; /* a whole part was written */
};

/* Writes the packet "tracing started" of a session that is not the first one, with "next session
 * started" instead. */
static int write_next_session(struct snapshot_output *out, const struct pb_field *packet)
{
	struct pb_dec d = pb_dec_of(packet);
	const uint8_t *from = d.cur;
	struct pb_mem copy;
	struct pb_field f;
	int r = pb_mem_init(&copy);

	if (r < 0)
		return r;
	for (; pb_dec_next(&d, &f); from = d.cur)
		if (f.id != PB_TRACE_PACKET_SERVICE_EVENT)
			pb_enc_raw(&copy.enc, from, (size_t)(d.cur - from));
	pb_enc_open(&copy.enc, PB_TRACE_PACKET_SERVICE_EVENT);
	pb_enc_bool(&copy.enc, PB_TRACING_SERVICE_EVENT_NEXT_SESSION_STARTED, true);
	pb_enc_close(&copy.enc);
	r = copy.failed ? -ENOMEM : trace_file_add_packet(out->file, copy.buf, pb_mem_len(&copy));
	pb_mem_deinit(&copy);
	return r;
}

static int write_packets(struct snapshot_output *out, const struct part_map *m, struct err_text *e)
{
	struct pb_field packet;
	struct pb_dec d;
	int r = 0;

	pb_dec_init(&d, m->data, m->len);
	while (r == 0 && next_packet(&d, &packet))
		r = out->has_begun && is_tracing_started(&packet)
			    ? write_next_session(out, &packet)
			    : trace_file_add_packet(out->file, packet.data, packet.len);
	out->has_begun = true;
	return r < 0 ? err_set(e, r, "cannot write the snapshot: %s", strerror(-r)) : 0;
}

/* Maps a part. Returns 0; -ENOENT if it was removed meanwhile; or -errno and sets e. */
static int snapshot_map_part(const struct snapshot_sources *s, size_t i, struct part_map *ret,
			     struct err_text *e)
{
	char path[PATH_MAX];
	int r = recorder_part_path(s->dir, &s->parts.of[i], path);

	if (r == 0)
		r = part_map_path(path, ret);
	if (r < 0 && r != -ENOENT)
		err_set(e, r, "cannot read %.300s: %s", path, strerror(-r));
	return r;
}

/* Writes a part, unless the clone has it. */
static int write_part(struct snapshot_output *out, const struct snapshot_sources *s, size_t i,
		      struct recorder_snapshot *ret, struct err_text *e)
{
	struct part_map m;
	int r = snapshot_map_part(s, i, &m, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!is_cloned(s, &m))
		r = write_packets(out, &m, e);
	ret->parts++;
	part_map_deinit(&m);
	return r;
}

/* Returns the first part of the newest boot that was written after the time. */
static size_t first_part(const struct recorder_parts *p, int64_t begin_ns)
{
	size_t i = p->n;

	while (i > 0 && !strcmp(p->of[i - 1].boot, p->of[p->n - 1].boot) &&
	       p->of[i - 1].end_ns >= begin_ns)
		i--;
	return i;
}

/* Returns the number of parts that are not younger than the clone. If no part of the clone is on
 * disk, the clone is not of this ring and is freed. */
static size_t count_older_parts(struct snapshot_sources *s)
{
	size_t n = s->parts.n;
	struct part_map m;
	struct err_text e;

	for (size_t i = n; s->clone.data && s->empty.session && i > 0; i--)
		if (s->parts.of[i - 1].session == s->empty.session &&
		    s->parts.of[i - 1].number == s->empty.number)
			return i - 1;
	for (size_t i = n; s->clone.data && i > 0 && n - i < CLONED_PARTS_MAX; i--) {
		bool cloned;

		if (snapshot_map_part(s, i - 1, &m, &e) < 0)
			continue;
		cloned = is_cloned(s, &m);
		part_map_deinit(&m);
		if (cloned)
			return i;
	}
	part_map_deinit(&s->clone);
	s->n_cloned = 0;
	return n;
}

static int explain_no_data(const char *dir, uint64_t last_ns, const struct err_text *why,
			   struct err_text *e)
{
	char last[32] = "";

	if (last_ns)
		snprintf(last, sizeof(last), " of the last %u s", (unsigned)(last_ns / NS_PER_S));
	return err_set(e, -ENODATA, "the ring in %.200s has no data%s%s%.200s", dir, last,
		       why->text[0] ? ": " : "", why->text);
}

static int write_trace(struct snapshot_sources *s, uint64_t last_ns, struct trace_file *file,
		       struct recorder_snapshot *ret, struct err_text *e)
{
	int64_t now = (int64_t)clock_ns(CLOCK_REALTIME);
	int64_t begin = last_ns && last_ns < (uint64_t)now ? now - (int64_t)last_ns : INT64_MIN;
	struct snapshot_output out = {.file = file};
	size_t end = count_older_parts(s);
	int r = 0;

	ret->is_live = s->clone.data;
	for (size_t i = first_part(&s->parts, begin); i < end && r == 0; i++)
		r = write_part(&out, s, i, ret, e);
	if (r == 0 && s->clone.data)
		r = write_packets(&out, &s->clone, e);
	ret->bytes = trace_file_bytes(file);
	if (r == 0 && !ret->bytes)
		r = explain_no_data(s->dir, last_ns, &ret->not_live, e);
	return r;
}

int recorder_snapshot_write(const char *dir, uint64_t last_ns, struct trace_file *file,
			    struct recorder_snapshot *ret, struct err_text *e)
{
	struct snapshot_sources s = {.dir = dir};
	int r;

	*ret = (struct recorder_snapshot){0};
	save_clone(&s, ret);
	r = recorder_parts_read(dir, &s.parts);
	if (r == -ENOENT || (r == 0 && !s.parts.n && !s.clone.data))
		r = err_set(e, -ENOENT,
			    "no recorder has recorded into %.300s; see sonda help recorder", dir);
	else if (r < 0)
		err_set(e, r, "cannot read the directory %.300s: %s", dir, strerror(-r));
	if (r == 0)
		r = write_trace(&s, last_ns, file, ret, e);
	part_map_deinit(&s.clone);
	recorder_parts_deinit(&s.parts);
	return r;
}

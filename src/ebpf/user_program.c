/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/user_program.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ebpf/engine/errors.h"
#include "ebpf/engine/object.h"
#include "ebpf/tracks/counter.h"
#include "ebpf/tracks/event_tracks.h"
#include "ebpf/user_map.h"

/*
 * Reads a user program: NAME.bpf.o in a directory of the administrator. It runs in the kernel, and
 * any consumer may request it by name. So it must be certain that only root could put it there: the
 * directory and the file must be owned by root and not writable by others, and the name must not
 * lead out of the directory.
 */

#define PROGRAM_NAME_CHARS 48 /* letters, digits, '_' and '-' */
#define PROGRAM_BYTES_MAX (4u << 20)

static int check_name(const char *name, struct err_text *e)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(name);

	if (len > 0 && len <= PROGRAM_NAME_CHARS && strspn(name, chars) == len)
		return 0;
	return err_set(
		e, -EINVAL,
		"'%.80s' is not a valid program name: expected 1 to %d letters, digits, '_' or '-'",
		name, PROGRAM_NAME_CHARS);
}

/* Checks the open file, which cannot be replaced any more. */
static int check_owner(int fd, const char *what, unsigned owner, mode_t type, struct err_text *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, -errno, "%s: %s", what, strerror(errno));
	if ((st.st_mode & S_IFMT) != type)
		return err_set(e, -EINVAL, "%s is not a %s", what,
			       type == S_IFDIR ? "directory" : "file");
	if (st.st_uid != owner)
		return err_set(e, -EPERM, "%s is owned by uid %u; it must be owned by uid %u", what,
			       (unsigned)st.st_uid, owner);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(e, -EPERM,
			       "%s is writable by users other than its owner; run: chmod go-w",
			       what);
	return 0;
}

/* Opens a file in the directory. A link to a target in the directory is allowed; before Linux 5.6
 * links cannot be checked, so none is. */
static int open_beneath(int directory, const char *name)
{
	const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS)
		fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* Appends the file to b. owner: 0 (root), another one in tests. Returns 0, or -errno and sets e. */
static int program_file_read(const char *directory, const char *name, unsigned owner,
			     struct strbuf *b, struct err_text *e)
{
	_cleanup_(closep) int dir = -1, fd = -1;
	char file[PROGRAM_NAME_CHARS + sizeof(".bpf.o")];
	int r = check_name(name, e);

	if (r < 0)
		return r;
	snprintf(file, sizeof(file), "%s.bpf.o", name);
	dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_set(e, -errno, "%s: %s", directory, strerror(errno));
	r = check_owner(dir, directory, owner, S_IFDIR, e);
	if (r < 0)
		return r;
	fd = open_beneath(dir, file);
	if (fd == -EXDEV || fd == -ELOOP)
		return err_set(e, fd, "%s is a symbolic link to a file outside %s", file,
			       directory);
	if (fd < 0)
		return err_set(e, fd, "%s/%s: %s", directory, file, strerror(-fd));
	r = check_owner(fd, file, owner, S_IFREG, e);
	if (r < 0)
		return r;
	r = fs_read_fd(fd, PROGRAM_BYTES_MAX, b);
	return r < 0 ? err_set(e, r, "%s/%s: %s", directory, file, strerror(-r)) : 0;
}

#define OWNER 0 /* root */
#define EVENTS_MAP EVENT_RING_MAP

struct user_program {
	char name[PROGRAM_NAME_CHARS + 1];
	struct strbuf bytes;
	struct ebpf_variant variant;
	struct ebpf_family family;
};

/* State of a run. */
struct state {
	uint32_t group;
	uint32_t n_maps;
	struct user_map maps[USER_MAPS_MAX];
	uint32_t left_out_track;
	bool left_out_reported;
	/* for a ring of events: */
	struct event_ring *ring; /* owned; NULL: none */
	uint32_t events_left_out_track, events_bad_track;
	bool events_left_out_reported, bad_events_reported;
};

static const struct ebpf_need no_needs[] = {NEED_END};

/* ---- run ---- */

static void add_map(struct ebpf_run *r, struct state *s, const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);
	struct err_text e;

	if (s->n_maps == USER_MAPS_MAX) {
		ebpf_errors_add(r->errors, r->family->name, "%s is skipped: the limit is %u", name,
				USER_MAPS_MAX);
		return;
	}
	if (user_map_init(&s->maps[s->n_maps], map, ebpf_object_btf(r->object), r->tracks, s->group,
			  r->n_cpus, &e) == 0) {
		s->n_maps++;
		return;
	}
	user_map_deinit(&s->maps[s->n_maps]);
	ebpf_errors_add(r->errors, r->family->name, "%s is skipped: %s", name, e.text);
}

/* ---- events ---- */

static void user_program_add_events(struct ebpf_run *r, struct state *s, const struct bpf_map *map)
{
	bool is_ring = bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF;

	int e = -EINVAL;

	if (is_ring)
		e = event_ring_new(bpf_map__fd(map), r->tracks, s->group, r->family->name,
				   &s->ring);
	if (e < 0)
		ebpf_errors_add(r->errors, r->family->name, EVENTS_MAP " is ignored: %s",
				is_ring ? strerror(-e) : "it is not a ring buffer");
}

static void set_event_counter(const struct ebpf_run *r, const struct state *s, uint32_t *track,
			      const char *name, uint64_t n)
{
	if (n && *track == TRACK_ROOT)
		*track = ebpf_add_total(r, s->group, name, NULL, TRACK_UNIT_COUNT);
	tracks_set(r->tracks, *track, (int64_t)n);
}

static void report_events(struct ebpf_run *r, struct state *s)
{
	struct event_tracks_counts n = event_ring_counts(s->ring);

	if (n.left_out && !s->events_left_out_reported)
		ebpf_errors_add(r->errors, r->family->name,
				"more than %u events per second, or more than %u at a time from "
				"one thread; the excess is counted in \"events left out\"",
				EVENT_TRACKS_EVENTS_PER_SECOND, EVENT_TRACKS_MAX);
	if (n.bad && !s->bad_events_reported)
		ebpf_errors_add(r->errors, r->family->name,
				"some events of " EVENTS_MAP
				" are not a struct sonda_event, or their time is not "
				"CLOCK_BOOTTIME; they are counted in \"bad events\"");
	s->events_left_out_reported = n.left_out;
	s->bad_events_reported = n.bad;
	set_event_counter(r, s, &s->events_left_out_track, "events left out", n.left_out);
	set_event_counter(r, s, &s->events_bad_track, "bad events", n.bad);
}

static int read_events(struct ebpf_run *r, struct state *s)
{
	int e;

	if (!s->ring)
		return 0;
	e = event_ring_read(s->ring);
	report_events(r, s);
	return e;
}

static int user_program_begin(struct ebpf_run *r)
{
	struct state *s = r->state;
	const struct bpf_map *map = NULL;

	s->group = tracks_add(r->tracks, &(struct track_spec){.kind = TRACK_GROUP,
							      .parent = r->group,
							      .name = r->family->name});
	while ((map = ebpf_object_next_map(r->object, map))) {
		if (str_starts(bpf_map__name(map), USER_MAP_PREFIX))
			add_map(r, s, map);
		else if (!strcmp(bpf_map__name(map), EVENTS_MAP))
			user_program_add_events(r, s, map);
	}
	if (s->n_maps || s->ring)
		return 0;
	return err_set(&r->why, -ENOENT,
		       "%s.bpf.o has no usable map \"%s...\" and no ring buffer "
		       "\"" EVENTS_MAP "\"",
		       r->family->name, USER_MAP_PREFIX);
}

static void report_left_out(struct ebpf_run *r, struct state *s, const struct user_map *m)
{
	if (!m->n_left_out || s->left_out_reported)
		return;
	s->left_out_reported = true;
	ebpf_errors_add(
		r->errors, r->family->name,
		"%s%s has more than %u elements; \"elements left out\" counts those without tracks",
		USER_MAP_PREFIX, m->name, USER_MAP_KEYS_MAX);
	s->left_out_track = tracks_add(
		r->tracks,
		&(struct track_spec){.kind = TRACK_COUNTER,
				     .parent = s->group,
				     .name = "elements left out",
				     .description = "map elements without a track: too many",
				     .unit = TRACK_UNIT_COUNT});
}

static int user_program_read_all(struct ebpf_run *r)
{
	struct state *s = r->state;
	uint64_t left_out = 0;
	int worst = 0, e;

	for (uint32_t i = 0; i < s->n_maps; i++) {
		e = user_map_read(&s->maps[i]);
		worst = worst ? worst : e;
		left_out += s->maps[i].n_left_out;
		report_left_out(r, s, &s->maps[i]);
	}
	if (s->left_out_reported)
		tracks_set(r->tracks, s->left_out_track, (int64_t)left_out);
	e = read_events(r, s);
	return worst ? worst : e;
}

static void user_program_remove_tracks(struct ebpf_run *r)
{
	struct state *s = r->state;

	tracks_remove(r->tracks, s->group);
}

static void user_program_end(struct ebpf_run *r)
{
	struct state *s = r->state;

	for (uint32_t i = 0; i < s->n_maps; i++)
		user_map_deinit(&s->maps[i]);
	event_ring_free(s->ring);
}

/* ---- the family ---- */

int user_program_new(const char *directory, const char *name, struct user_program **ret,
		     struct err_text *e)
{
	struct user_program *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	r = program_file_read(directory, name, OWNER, &p->bytes, e);
	if (r < 0) {
		user_program_free(p);
		return r;
	}
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->variant = (struct ebpf_variant){
		.name = "own",
		.image = {.name = p->name,
			  .is_foreign = true,
			  .begin = (const unsigned char *)p->bytes.s,
			  .end = (const unsigned char *)p->bytes.s + p->bytes.len},
		.needs = no_needs,
	};
	p->family = (struct ebpf_family){
		.name = p->name,
		.variants = &p->variant,
		.n_variants = 1,
		.state_size = sizeof(struct state),
		.begin = user_program_begin,
		.read = user_program_read_all,
		.remove_tracks = user_program_remove_tracks,
		.end = user_program_end,
	};
	*ret = p;
	return 0;
}

void user_program_free(struct user_program *p)
{
	if (!p)
		return;
	strbuf_deinit(&p->bytes);
	free(p);
}

const struct ebpf_family *user_program_family(const struct user_program *p)
{
	return &p->family;
}

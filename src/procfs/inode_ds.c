/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/inode_ds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "gen/fields.h"
#include "procfs/inode_mounts.h"
#include "procfs/inode_walk.h"
#include "procfs/turn.h"

/*
 * Events tell of inodes by number. Which of them will come is not known here, so the folders that the
 * config names are walked once, and every path is told:
 *
 *	start --- delay ---> batch --- interval ---> batch --- interval ---> ... the end
 *	                      |
 *	                      +-- turn, turn, turn ...: a packet in each
 *
 * Nothing is kept of what was told, so memory does not grow with the number of files.
 */

#define DELAY_MS 10000
#define INTERVAL_MS 10000
#define BATCH 15000
/* Folders that a config may name. */
#define ROOTS_MAX 64
#define MOUNTINFO_MAX (4u << 20)

struct root {
	char *mount_point; /* owned, as is path */
	char *path; /* the folder to walk */
};

struct inode_ds {
	struct ds_handle *h; /* borrowed, as is the root of /proc */
	const char *proc_root;
	struct writer *writer; /* owned */
	struct event *turn; /* owned */
	uint32_t delay_ms, interval_ms, batch;
	struct root roots[ROOTS_MAX];
	unsigned n_roots;
	unsigned next_root;
	uint32_t left_in_batch;
	struct inode_walk walk;
	struct strbuf mountinfo; /* as it is when a walk begins */
	struct pb_enc *packet; /* the open one, or NULL */
	uint64_t told; /* inodes */
	bool walking; /* below next_root - 1 */
	bool over;
};

/* ---- packets ---- */

static void open_packet(struct inode_ds *ds)
{
	struct pb_enc *e = writer_begin(ds->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_INODE_FILE_MAP);
	pb_enc_u64(e, PB_INODE_FILE_MAP_BLOCK_DEVICE_ID, ds->walk.device);
	inode_mounts_encode(e, PB_INODE_FILE_MAP_MOUNT_POINTS, ds->mountinfo.s, ds->mountinfo.len,
			    ds->walk.device);
	ds->packet = e;
}

static void close_packet(struct inode_ds *ds)
{
	if (!ds->packet)
		return;
	pb_enc_close(ds->packet);
	writer_end(ds->writer);
	ds->packet = NULL;
}

static void tell(struct inode_ds *ds, const struct inode_found *f)
{
	struct pb_enc *e;

	if (!ds->packet)
		open_packet(ds);
	e = ds->packet;
	pb_enc_open(e, PB_INODE_FILE_MAP_ENTRIES);
	pb_enc_u64(e, PB_INODE_FILE_MAP_ENTRY_INODE_NUMBER, f->inode);
	pb_enc_bytes(e, PB_INODE_FILE_MAP_ENTRY_PATHS, f->path, f->path_len);
	/* enum inode_type has the numbers of the message. */
	pb_enc_u64(e, PB_INODE_FILE_MAP_ENTRY_TYPE, f->type);
	pb_enc_close(e);
	ds->told++;
}

/* ---- the walk ---- */

static int begin_walk(struct inode_ds *ds, const struct root *root)
{
	char path[512];
	struct stat st;
	int r;

	if (stat(root->mount_point, &st) < 0)
		return -errno;
	r = inode_walk_begin(&ds->walk, root->path);
	if (r < 0)
		return r;
	if (st.st_dev != ds->walk.device) {
		inode_walk_end(&ds->walk);
		return -EXDEV;
	}
	strbuf_clear(&ds->mountinfo);
	/* Without it the packets say nothing of mount points. */
	if (fs_join(path, sizeof(path), ds->proc_root, "self/mountinfo") == 0)
		(void)fs_read_file(path, MOUNTINFO_MAX, &ds->mountinfo);
	return 0;
}

static void next_root(struct inode_ds *ds)
{
	const struct root *root = &ds->roots[ds->next_root];
	int r;

	close_packet(ds);
	if (ds->next_root == ds->n_roots) {
		ds->over = true;
		return;
	}
	ds->next_root++;
	r = begin_walk(ds, root);
	ds->walking = r == 0;
	if (r == -EXDEV)
		log_warn("linux.inode_file_map: %s is not on the device of %s", root->path,
			 root->mount_point);
	else if (r < 0)
		log_warn("linux.inode_file_map: %s: %s", root->path, strerror(-r));
}

static void step(struct inode_ds *ds)
{
	struct inode_found f;

	if (!ds->walking) {
		next_root(ds);
		return;
	}
	ds->walking = inode_walk_step(&ds->walk, &f);
	if (f.inode == 0)
		return;
	tell(ds, &f);
	ds->left_in_batch--;
}

static void run_in(struct inode_ds *ds, uint32_t ms)
{
	const struct timeval t = {.tv_sec = ms / 1000, .tv_usec = (long)(ms % 1000) * 1000};

	evtimer_add(ds->turn, &t);
}

static void on_turn(evutil_socket_t fd, short what, void *ctx)
{
	struct inode_ds *ds = ctx;
	struct turn turn = turn_begin(clock_mono_ns);

	(void)fd;
	(void)what;
	while (!ds->over && ds->left_in_batch > 0 && !turn_over(&turn))
		step(ds);
	close_packet(ds);
	if (ds->over)
		return;
	if (ds->left_in_batch > 0) {
		run_in(ds, 0);
		return;
	}
	ds->left_in_batch = ds->batch;
	run_in(ds, ds->interval_ms);
}

/* ---- the config ---- */

static int add_root(struct inode_ds *ds, const char *mount_point, const char *path)
{
	struct root *root = &ds->roots[ds->n_roots];

	if (mount_point[0] != '/' || path[0] != '/') {
		log_warn("linux.inode_file_map: '%s' is not a path from the root",
			 mount_point[0] != '/' ? mount_point : path);
		return 0;
	}
	if (ds->n_roots == ROOTS_MAX) {
		log_warn("linux.inode_file_map: %s is left out: the config names more than %d "
			 "folders",
			 path, ROOTS_MAX);
		return 0;
	}
	root->mount_point = strdup(mount_point);
	root->path = strdup(path);
	ds->n_roots++;
	return root->mount_point && root->path ? 0 : -ENOMEM;
}

static int add_mapping(struct inode_ds *ds, const Pb__InodeFileConfig__MountPointMappingEntry *m)
{
	int r = 0;

	for (size_t i = 0; i < m->n_scan_roots && r == 0; i++)
		r = add_root(ds, m->mountpoint, m->scan_roots[i]);
	return r;
}

static int add_mount_point(struct inode_ds *ds, const Pb__InodeFileConfig *c, const char *name)
{
	for (size_t i = 0; i < c->n_mount_point_mapping; i++) {
		const Pb__InodeFileConfig__MountPointMappingEntry *m = c->mount_point_mapping[i];

		if (m->mountpoint && strcmp(m->mountpoint, name) == 0)
			return add_mapping(ds, m);
	}
	return add_root(ds, name, name);
}

static int add_roots(struct inode_ds *ds, const Pb__InodeFileConfig *c)
{
	int r = 0;

	for (size_t i = 0; i < c->n_scan_mount_points && r == 0; i++)
		r = add_mount_point(ds, c, c->scan_mount_points[i]);
	/* Where mount points are named, others are not scanned, mapped or not. */
	for (size_t i = 0; i < c->n_mount_point_mapping && r == 0; i++)
		if (c->n_scan_mount_points == 0 && c->mount_point_mapping[i]->mountpoint)
			r = add_mapping(ds, c->mount_point_mapping[i]);
	return r;
}

static int configure(struct inode_ds *ds, const Pb__InodeFileConfig *c)
{
	int r = c && !c->do_not_scan ? add_roots(ds, c) : 0;

	ds->delay_ms = c && c->scan_delay_ms ? c->scan_delay_ms : DELAY_MS;
	ds->interval_ms = c && c->scan_interval_ms ? c->scan_interval_ms : INTERVAL_MS;
	ds->batch = c && c->scan_batch_size ? c->scan_batch_size : BATCH;
	ds->left_in_batch = ds->batch;
	if (c && c->do_not_scan)
		log_warn("linux.inode_file_map records nothing with do_not_scan");
	else if (r == 0 && ds->n_roots == 0)
		log_warn("linux.inode_file_map records nothing without scan_mount_points or "
			 "mount_point_mapping");
	return r;
}

/* ---- the data source ---- */

static void inode_destroy(void *instance)
{
	struct inode_ds *ds = instance;

	if (!ds)
		return;
	if (ds->turn)
		event_free(ds->turn);
	inode_walk_end(&ds->walk);
	strbuf_deinit(&ds->mountinfo);
	for (unsigned i = 0; i < ds->n_roots; i++) {
		free(ds->roots[i].mount_point);
		free(ds->roots[i].path);
	}
	writer_free(ds->writer);
	free(ds);
}

static void destroyp(struct inode_ds **ds)
{
	inode_destroy(*ds);
}

static int inode_create(struct ds_handle *h, const struct ds_env *env,
			const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(destroyp) struct inode_ds *ds = calloc(1, sizeof(*ds));
	int r;

	if (!ds)
		return -ENOMEM;
	ds->h = h;
	ds->proc_root = env->proc_root;
	r = configure(ds, config->inode_file_config);
	if (r < 0)
		return r;
	ds->turn = evtimer_new(env->loop, on_turn, ds);
	ds->writer = ds_writer_new(h);
	if (!ds->turn || !ds->writer)
		return -ENOMEM;
	*ret_instance = TAKE_PTR(ds);
	return 0;
}

static void inode_start(void *instance)
{
	struct inode_ds *ds = instance;

	if (ds->n_roots > 0)
		run_in(ds, ds->delay_ms);
	ds_started(ds->h);
}

static void inode_flush(void *instance, uint64_t flush_id)
{
	struct inode_ds *ds = instance;

	writer_flush(ds->writer);
	ds_flushed(ds->h, flush_id);
}

static void inode_stop(void *instance)
{
	struct inode_ds *ds = instance;

	event_del(ds->turn);
	if (ds->n_roots > 0 && !ds->over)
		log_warn("linux.inode_file_map: the session ended before the scan; %llu files were "
			 "found",
			 (unsigned long long)ds->told);
	if (ds->walk.unreadable || ds->walk.too_deep)
		log_warn("linux.inode_file_map: %llu folders could not be read, and %llu were more "
			 "than %d levels deep",
			 (unsigned long long)ds->walk.unreadable,
			 (unsigned long long)ds->walk.too_deep, INODE_DEPTH_MAX);
	inode_walk_end(&ds->walk);
	writer_flush(ds->writer);
	ds_stopped(ds->h);
}

const struct data_source inode_file_map_data_source = {
	.name = "linux.inode_file_map",
	.create = inode_create,
	.start = inode_start,
	.flush = inode_flush,
	.stop = inode_stop,
	.destroy = inode_destroy,
};

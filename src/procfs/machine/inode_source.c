/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/event_free.h"
#include "procfs/data_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/core/mem.h"
#include "client/producer/metadata_bus.h"
#include "gen/fields.h"
#include "procfs/machine/inode_mounts.h"
#include "procfs/machine/inode_walk.h"
#include "base/event_loop/time_slice.h"

/*
 * If linux.ftrace is in the session, it publishes the inodes that events name. This source walks
 * the mount points of their devices, unless the config says otherwise, and writes only the paths of
 * those inodes, each once:
 *
 *	events --- delay ---> batch --- interval ---> batch --- interval ---> ... end of the pass:
 *	                       |                                                  the rest has no path
 *	                       +-- slice, slice, slice ...: a packet in each
 *
 * Inodes named meanwhile are for the next pass. Without linux.ftrace there is one pass over the
 * directories of the config, and every path is written; the paths are not remembered, so memory
 * does not grow with the number of files.
 */

#define DELAY_MS 10000
#define INTERVAL_MS 10000
#define BATCH 15000
#define MOUNTINFO_MAX (4u << 20)

struct inode_source {
	struct ds_handle *h; /* borrowed, as is the root of /proc */
	const char *proc_root;
	struct metadata_bus *bus; /* NULL: not subscribed */
	struct writer *writer; /* owned */
	struct event *next_slice; /* owned */
	uint32_t delay_ms, interval_ms, batch;
	struct inode_roots named; /* of the config */
	struct inode_roots roots; /* of the current pass, if has_publisher */
	struct inode_requests requests;
	unsigned next_root;
	uint32_t left_in_batch;
	struct inode_walk walk;
	dev_t device; /* device of the walk, as in events */
	struct strbuf mountinfo; /* read at the start of a walk */
	struct pb_enc *packet; /* the open packet, or NULL */
	uint64_t written; /* inodes */
	bool do_not_scan;
	bool has_publisher; /* linux.ftrace publishes inodes: only those are written */
	bool active; /* a pass is active or due */
	bool walking; /* the walk of directory next_root - 1 is active */
};

/* The directories of the pass. */
static const struct inode_roots *roots_of(const struct inode_source *ds)
{
	return ds->has_publisher ? &ds->roots : &ds->named;
}

/* ---- packets ---- */

static void open_packet(struct inode_source *ds)
{
	struct pb_enc *e = writer_begin(ds->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_INODE_FILE_MAP);
	pb_enc_u64(e, PB_INODE_FILE_MAP_BLOCK_DEVICE_ID, ds->device);
	inode_mounts_encode(e, PB_INODE_FILE_MAP_MOUNT_POINTS, ds->mountinfo.s, ds->mountinfo.len,
			    ds->device);
	ds->packet = e;
}

static void close_packet(struct inode_source *ds)
{
	if (!ds->packet)
		return;
	pb_enc_close(ds->packet);
	writer_end(ds->writer);
	ds->packet = NULL;
}

static void write_path(struct inode_source *ds, const struct inode_found *f)
{
	struct pb_enc *e;

	if (!ds->packet)
		open_packet(ds);
	e = ds->packet;
	pb_enc_open(e, PB_INODE_FILE_MAP_ENTRIES);
	pb_enc_u64(e, PB_INODE_FILE_MAP_ENTRY_INODE_NUMBER, f->inode);
	pb_enc_bytes(e, PB_INODE_FILE_MAP_ENTRY_PATHS, f->path, f->path_len);
	/* enum inode_type has the values of the message. */
	pb_enc_u64(e, PB_INODE_FILE_MAP_ENTRY_TYPE, f->type);
	pb_enc_close(e);
	ds->written++;
}

/* ---- the walk ---- */

static void read_mountinfo(struct inode_source *ds)
{
	char path[512];

	strbuf_clear(&ds->mountinfo);
	/* Without mountinfo the packets have no mount points. */
	if (fs_join(path, sizeof(path), ds->proc_root, "self/mountinfo") == 0)
		(void)fs_read_file(path, MOUNTINFO_MAX, &ds->mountinfo);
}

/* Finds the device of the file system of the path, as in events. Returns 0 or -errno. */
static int device_of(const struct inode_source *ds, const char *path, dev_t *ret)
{
	struct statx st;

	if (statx(AT_FDCWD, path, 0, STATX_TYPE | STATX_MNT_ID, &st) < 0)
		return -errno;
	/*
	 * Kernels before 5.8 do not return the mount id, and a mount may be invisible in our /proc.
	 */
	if (!(st.stx_mask & STATX_MNT_ID) ||
	    !inode_mounts_device(ds->mountinfo.s, ds->mountinfo.len, st.stx_mnt_id, ret))
		*ret = makedev(st.stx_dev_major, st.stx_dev_minor);
	return 0;
}

static int begin_walk(struct inode_source *ds, const struct inode_root *root)
{
	dev_t device;
	int r;

	read_mountinfo(ds);
	r = device_of(ds, root->mount_point, &device);
	if (r == 0)
		r = device_of(ds, root->path, &ds->device);
	if (r == 0 && device != ds->device)
		r = -EXDEV;
	return r < 0 ? r : inode_walk_begin(&ds->walk, root->path);
}

static void begin_pass(struct inode_source *ds)
{
	uint64_t devices[INODE_DEVICES_MAX];
	unsigned n = inode_requests_begin(&ds->requests, devices);

	ds->next_root = 0;
	ds->left_in_batch = ds->batch;
	inode_roots_deinit(&ds->roots);
	read_mountinfo(ds);
	for (unsigned i = 0; i < n; i++)
		if (inode_roots_add_device(&ds->roots, &ds->named, ds->mountinfo.s,
					   ds->mountinfo.len, devices[i]) < 0)
			log_warn("linux.inode_file_map: out of memory; paths are missing");
}

/* Called when all requests have a path, or no directory is left. */
static void end_pass(struct inode_source *ds)
{
	close_packet(ds);
	inode_walk_end(&ds->walk);
	ds->walking = false;
	ds->active = false;
	inode_requests_end(&ds->requests);
}

static void next_root(struct inode_source *ds)
{
	const struct inode_root *root = &roots_of(ds)->rows[ds->next_root];
	int r;

	close_packet(ds);
	if (ds->next_root == roots_of(ds)->n) {
		end_pass(ds);
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

static void step(struct inode_source *ds)
{
	struct inode_found f;

	if (!ds->walking) {
		next_root(ds);
		return;
	}
	ds->walking = inode_walk_step(&ds->walk, &f);
	if (f.inode == 0)
		return;
	ds->left_in_batch--;
	if (!ds->has_publisher || inode_requests_take(&ds->requests, ds->device, f.inode))
		write_path(ds, &f);
	if (ds->has_publisher && ds->requests.sought == 0)
		end_pass(ds);
}

static void run_in(struct inode_source *ds, uint32_t ms)
{
	const struct timeval t = {.tv_sec = ms / 1000, .tv_usec = (long)(ms % 1000) * 1000};

	evtimer_add(ds->next_slice, &t);
}

static void begin_if_requested(struct inode_source *ds)
{
	if (ds->active || ds->requests.waiting == 0)
		return;
	ds->active = true;
	run_in(ds, ds->delay_ms);
}

static void on_slice(evutil_socket_t fd, short what, void *ctx)
{
	struct inode_source *ds = ctx;
	struct time_slice slice = time_slice_start(clock_mono_ns);

	(void)fd;
	(void)what;
	if (ds->has_publisher && ds->requests.sought == 0)
		begin_pass(ds);
	while (ds->active && ds->left_in_batch > 0 && !time_slice_over(&slice))
		step(ds);
	close_packet(ds);
	if (!ds->active) {
		begin_if_requested(ds);
		return;
	}
	if (ds->left_in_batch > 0) {
		run_in(ds, 0);
		return;
	}
	ds->left_in_batch = ds->batch;
	run_in(ds, ds->interval_ms);
}

static void on_metadata(void *ctx, const struct metadata_batch *batch)
{
	struct inode_source *ds = ctx;

	if (!ds->has_publisher)
		return;
	for (size_t i = 0; i < batch->n_inodes; i++)
		inode_requests_add(&ds->requests, batch->inodes[i].device, batch->inodes[i].inode);
	ds->requests.dropped += batch->lost_inodes;
	begin_if_requested(ds);
}

/* ---- the config ---- */

static int configure(struct inode_source *ds, const Pb__InodeFileConfig *c)
{
	int r = c ? inode_roots_configure(&ds->named, c) : 0;

	ds->do_not_scan = c && c->do_not_scan;
	ds->delay_ms = c && c->scan_delay_ms ? c->scan_delay_ms : DELAY_MS;
	ds->interval_ms = c && c->scan_interval_ms ? c->scan_interval_ms : INTERVAL_MS;
	ds->batch = c && c->scan_batch_size ? c->scan_batch_size : BATCH;
	ds->left_in_batch = ds->batch;
	return r;
}

/* ---- the data source ---- */

static void inode_destroy(void *instance)
{
	struct inode_source *ds = instance;

	if (!ds)
		return;
	if (ds->bus)
		metadata_bus_unsubscribe(ds->bus, ds_session_id(ds->h), ds);
	event_freep(&ds->next_slice);
	inode_walk_end(&ds->walk);
	strbuf_deinit(&ds->mountinfo);
	inode_roots_deinit(&ds->named);
	inode_roots_deinit(&ds->roots);
	inode_requests_deinit(&ds->requests);
	writer_free(ds->writer);
	free(ds);
}

static void destroyp(struct inode_source **ds)
{
	inode_destroy(*ds);
}

static int inode_create(struct ds_handle *h, const struct ds_env *env,
			const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(destroyp) struct inode_source *ds = calloc(1, sizeof(*ds));
	int r;

	if (!ds)
		return -ENOMEM;
	ds->h = h;
	ds->proc_root = env->proc_root;
	r = configure(ds, config->inode_file_config);
	if (r < 0)
		return r;
	ds->next_slice = evtimer_new(env->loop, on_slice, ds);
	ds->writer = ds_writer_new(h);
	if (!ds->next_slice || !ds->writer)
		return -ENOMEM;
	/*
	 * Subscribe before any source starts: publishers check at their start whether there are
	 * subscribers.
	 */
	if (env->bus && !ds->do_not_scan &&
	    metadata_bus_subscribe(env->bus, ds_session_id(h), METADATA_INODES, on_metadata, ds) ==
		    0)
		ds->bus = env->bus;
	*ret_instance = TAKE_PTR(ds);
	return 0;
}

static void inode_start(void *instance)
{
	struct inode_source *ds = instance;

	ds->has_publisher = ds->bus && metadata_bus_has_publisher(ds->bus, ds_session_id(ds->h));
	ds->active = !ds->has_publisher && !ds->do_not_scan && ds->named.n > 0;
	if (ds->active)
		run_in(ds, ds->delay_ms);
	else if (ds->do_not_scan)
		log_warn("linux.inode_file_map records nothing with do_not_scan");
	else if (!ds->has_publisher)
		log_warn("linux.inode_file_map records nothing without linux.ftrace in the same "
			 "session, or scan_mount_points or mount_point_mapping");
	ds_started(ds->h);
}

static void inode_flush(void *instance, uint64_t flush_id)
{
	struct inode_source *ds = instance;

	writer_flush(ds->writer);
	ds_flushed(ds->h, flush_id);
}

static void inode_stop(void *instance)
{
	struct inode_source *ds = instance;

	const struct inode_requests *w = &ds->requests;

	event_del(ds->next_slice);
	ds->has_publisher = false;
	if (ds->active)
		log_warn("linux.inode_file_map: the session ended before the scan was complete; "
			 "%llu files were found",
			 (unsigned long long)ds->written);
	if (w->not_there || w->dropped)
		log_warn("linux.inode_file_map: %llu inodes of events were not found, %llu "
			 "exceeded the limit",
			 (unsigned long long)w->not_there, (unsigned long long)w->dropped);
	if (ds->walk.unreadable || ds->walk.too_deep)
		log_warn("linux.inode_file_map: %llu directories could not be read, and %llu were "
			 "more than %d levels deep",
			 (unsigned long long)ds->walk.unreadable,
			 (unsigned long long)ds->walk.too_deep, INODE_DEPTH_MAX);
	inode_walk_end(&ds->walk);
	writer_flush(ds->writer);
	ds_stopped(ds->h);
}

const struct data_source inode_file_map_data_source = {
	.name = "linux.inode_file_map",
	.capabilities = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_NICE,
	.create = inode_create,
	.start = inode_start,
	.flush = inode_flush,
	.stop = inode_stop,
	.destroy = inode_destroy,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel events of GPUs: vertical blanks, jobs of the DRM scheduler, fences, commands of virtio
 * GPUs. A ring (or a timeline of fences) works on one thing at a time: each slice begins when the
 * one before it ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/event_rules.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/slices.h"
#include "analyze/import/tracks.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* State that is kept between the events of a GPU, until the work is done. */

/* A job or a fence. */
struct gpu_work {
	uint64_t id[2]; /* a job: its id, or its fence's context and number; a fence: its number */
	bool is_fence; /* of a job: true if it has its fence's context and number */
};

/* What a struct gpu_value remembers, for an id within a track or a machine. */
enum gpu_value_kind {
	GPU_VALUE_QUEUED, /* ring's track: the slice that queued the job */
	GPU_VALUE_RUNS, /* machine and fence: the track of the ring that runs its job */
	GPU_VALUE_TIMELINE, /* machine and context: the track of the timeline */
	GPU_VALUE_COMMAND, /* machine, number and queue: ns, when the command was sent */
};

/* The queue of a track; the GPU executes the first job. */
struct gpu_queue {
	uint32_t track;
	bool emits;
	struct gpu_work *works; /* owned; those before `first` are done */
	size_t first, n, cap; /* n: not done */
	UT_hash_handle hh;
};

struct gpu_value_key {
	uint64_t kind, of, id[2];
};

struct gpu_value {
	struct gpu_value_key key;
	int64_t value;
	UT_hash_handle hh;
};

/* ---- queues ---- */

static struct gpu_queue *get_gpu_queue(struct import *im, uint32_t track)
{
	struct gpu_queue *q;

	HASH_FIND(hh, im->gpu_queues, &track, sizeof(track), q);
	if (q)
		return q;
	q = budget_alloc(&im->store->budget, sizeof(*q));
	if (q)
		q->track = track;
	return BUDGET_HASH_ADD(&im->store->budget, im->gpu_queues, track, q);
}

/* Appends to the queue. Returns its length; 0: no memory. */
static size_t gpu_work_push(struct import *im, uint32_t track, const struct gpu_work *w)
{
	struct gpu_queue *q = get_gpu_queue(im, track);

	if (!q || !budget_charge(&im->store->budget, sizeof(*w)))
		return 0;
	if (q->first > q->n) { /* so that each is moved once at most */
		memmove(q->works, q->works + q->first, q->n * sizeof(*w));
		q->first = 0;
	}
	if (array_reserve(&q->works, &q->cap, q->first + q->n + 1, sizeof(*w))) {
		im->store->budget.error = -ENOMEM;
		return 0;
	}
	q->works[q->first + q->n++] = *w;
	return q->n;
}

/* Returns the first, valid until the next call; NULL: the queue is empty. */
static const struct gpu_work *gpu_work_first(struct import *im, uint32_t track)
{
	const struct gpu_queue *q = get_gpu_queue(im, track);

	return q && q->n ? &q->works[q->first] : NULL;
}

/* Removes the first, if there is one. */
static void gpu_work_pop(struct import *im, uint32_t track)
{
	struct gpu_queue *q = get_gpu_queue(im, track);

	if (!q || !q->n)
		return;
	q->first++;
	q->n--;
	im->store->budget.used -= sizeof(*q->works);
}

/* Returns the flag of a track whose driver reports when the GPU begins to work on a fence (the
 * event "emit"); at first false. NULL if out of memory. */
static bool *gpu_work_emits_flag(struct import *im, uint32_t track)
{
	struct gpu_queue *q = get_gpu_queue(im, track);

	return q ? &q->emits : NULL;
}

/* ---- values ---- */

static struct gpu_value *gpu_value_find(struct import *im, const struct gpu_value_key *key)
{
	struct gpu_value *n;

	HASH_FIND(hh, im->gpu_values, key, sizeof(*key), n);
	return n;
}

/* Remembers a value for the id, in place of an older one. */
static void gpu_value_set(struct import *im, enum gpu_value_kind kind, uint32_t of,
			  const uint64_t id[2], int64_t value)
{
	const struct gpu_value_key key = {kind, of, {id[0], id[1]}};
	struct gpu_value *n = gpu_value_find(im, &key);

	if (!n) {
		n = budget_alloc(&im->store->budget, sizeof(*n));
		if (n)
			n->key = key;
		n = BUDGET_HASH_ADD(&im->store->budget, im->gpu_values, key, n);
	}
	if (n)
		n->value = value;
}

/* Get the value that is remembered for the id. Return false if there is none. gpu_value_pop() also
 * forgets it. */
static bool gpu_value_get(struct import *im, enum gpu_value_kind kind, uint32_t of,
			  const uint64_t id[2], int64_t *ret)
{
	const struct gpu_value_key key = {kind, of, {id[0], id[1]}};
	const struct gpu_value *n = gpu_value_find(im, &key);

	if (n)
		*ret = n->value;
	return n;
}

static bool gpu_value_pop(struct import *im, enum gpu_value_kind kind, uint32_t of,
			  const uint64_t id[2], int64_t *ret)
{
	const struct gpu_value_key key = {kind, of, {id[0], id[1]}};
	struct gpu_value *n = gpu_value_find(im, &key);

	if (!n)
		return false;
	*ret = n->value;
	HASH_DEL(im->gpu_values, n);
	free(n);
	im->store->budget.used -= sizeof(*n);
	return true;
}

void gpu_work_deinit(struct import *im)
{
	struct gpu_queue *q, *next_queue;

	HASH_ITER (hh, im->gpu_queues, q, next_queue) {
		HASH_DEL(im->gpu_queues, q);
		free(q->works);
		free(q);
	}
	HASH_FREE(im->gpu_values);
}

static uint32_t gpu_string(struct import *im, const char *s)
{
	return strings_intern_z(&im->store->strings, s);
}

/* Returns a field's text; the empty string if there is none. */
static uint32_t gpu_field_text(struct import *im, const struct ftrace_event *e, uint32_t which)
{
	uint32_t text = event_text(im, e, which);

	return text != NULL_U32 ? text : gpu_string(im, "");
}

static uint64_t gpu_field_number(const struct ftrace_event *e, uint32_t which)
{
	struct pb_field f;

	event_field(e, which, &f);
	return f.u64;
}

static void add_number(struct import *im, const char *key, uint64_t v)
{
	arg_builder_add_int(im->store, &im->args, key, ARG_UINT, (int64_t)v);
}

/* ---- vertical blanks ---- */

static void add_vblank(struct import *im, struct machine *m, const struct ftrace_event *e,
		       const char *name, uint64_t crtc, uint64_t seqno)
{
	static const struct track_type type = {"drm_vblank", NULL, false, {{"drm_crtc", false}}};
	int64_t value = (uint32_t)crtc;
	uint32_t track = tracks_get(
		im, m, &type, strings_intern_f(&im->store->strings, "vblank-%u", (unsigned)value),
		&value);

	add_number(im, "vblank seqno", (uint32_t)seqno);
	slices_begin(im, e->ts, 0, track, NULL_U32, gpu_string(im, name), &im->args);
}

static void add_vblank_event(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	add_vblank(im, m, e, "signal", gpu_field_number(e, PB_DRM_VBLANK_EVENT_FTRACE_EVENT_CRTC),
		   gpu_field_number(e, PB_DRM_VBLANK_EVENT_FTRACE_EVENT_SEQ));
}

static void handle_vblank_delivered(struct import *im, struct machine *m,
				    const struct ftrace_event *e)
{
	add_vblank(im, m, e, "deliver",
		   gpu_field_number(e, PB_DRM_VBLANK_EVENT_DELIVERED_FTRACE_EVENT_CRTC),
		   gpu_field_number(e, PB_DRM_VBLANK_EVENT_DELIVERED_FTRACE_EVENT_SEQ));
}

/* ---- the DRM scheduler ---- */

/* Adds the arguments that identify a job: in kernels before 6.17 its id, in later ones its
 * fence. */
static void add_job_args(struct import *im, const struct gpu_work *w)
{
	if (w->is_fence) {
		add_number(im, "fence context", w->id[0]);
		add_number(im, "fence seqno", w->id[1]);
	} else {
		add_number(im, "gpu sched job", w->id[0]);
	}
}

static uint32_t ring_track(struct import *im, struct machine *m, uint32_t name)
{
	static const struct track_type type = {"drm_sched_ring", NULL, false, {{"name", true}}};
	struct strings *s = &im->store->strings;
	int64_t value = name;

	return tracks_get(im, m, &type, strings_intern_f(s, "sched-%s", strings_get(s, name)),
			  &value);
}

/* Begins the slice of the ring's first job, with an arrow from where it was queued. */
static void begin_slice_of_first_job(struct import *im, int64_t ts, uint32_t track)
{
	const struct gpu_work *w = gpu_work_first(im, track);
	uint32_t slice;
	int64_t queued;

	if (!w)
		return;
	add_job_args(im, w);
	slice = slices_begin(im, ts, -1, track, NULL_U32, gpu_string(im, "job"), &im->args);
	if (slice != NULL_U32 && gpu_value_pop(im, GPU_VALUE_QUEUED, track, w->id, &queued))
		flows_connect(im, (uint32_t)queued, slice);
}

static void add_queued_job_slice(struct import *im, struct machine *m, const struct ftrace_event *e,
				 uint32_t ring, const struct gpu_work *w)
{
	uint32_t track = tracks_get_thread_track(im, m, e->utid), slice;

	arg_builder_add_int(im->store, &im->args, "gpu sched ring", ARG_STRING, ring);
	add_job_args(im, w);
	slice = slices_begin(im, e->ts, 0, track, NULL_U32, gpu_string(im, "drm_sched_job_queue"),
			     &im->args);
	if (slice != NULL_U32)
		gpu_value_set(im, GPU_VALUE_QUEUED, ring_track(im, m, ring), w->id, slice);
}

/* Appends a job to the ring's queue; the first one begins at once. fence: identifies the end of the
 * job. */
static void push_running_job(struct import *im, struct machine *m, const struct ftrace_event *e,
			     uint32_t ring, const struct gpu_work *w, const uint64_t fence[2])
{
	uint32_t track = ring_track(im, m, ring);
	int64_t known;

	if (!gpu_value_get(im, GPU_VALUE_RUNS, m->row, fence, &known))
		gpu_value_set(im, GPU_VALUE_RUNS, m->row, fence, track);
	if (gpu_work_push(im, track, w) == 1)
		begin_slice_of_first_job(im, e->ts, track);
}

static void pop_running_job(struct import *im, struct machine *m, const struct ftrace_event *e,
			    const uint64_t fence[2])
{
	int64_t track;

	if (!gpu_value_pop(im, GPU_VALUE_RUNS, m->row, fence, &track))
		return;
	gpu_work_pop(im, (uint32_t)track);
	slices_end(im, e->ts, (uint32_t)track, NULL_U32, NULL_U32, NULL);
	begin_slice_of_first_job(im, e->ts, (uint32_t)track);
}

static void handle_drm_sched_job(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	const struct gpu_work w = {{gpu_field_number(e, PB_DRM_SCHED_JOB_FTRACE_EVENT_ID), 0},
				   false};

	add_queued_job_slice(im, m, e, gpu_field_text(im, e, PB_DRM_SCHED_JOB_FTRACE_EVENT_NAME),
			     &w);
}

static void handle_drm_run_job(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	const struct gpu_work w = {{gpu_field_number(e, PB_DRM_RUN_JOB_FTRACE_EVENT_ID), 0}, false};
	const uint64_t fence[2] = {gpu_field_number(e, PB_DRM_RUN_JOB_FTRACE_EVENT_FENCE), 0};

	push_running_job(im, m, e, gpu_field_text(im, e, PB_DRM_RUN_JOB_FTRACE_EVENT_NAME), &w,
			 fence);
}

static void handle_drm_sched_process_job(struct import *im, struct machine *m,
					 const struct ftrace_event *e)
{
	const uint64_t fence[2] = {gpu_field_number(e, PB_DRM_SCHED_PROCESS_JOB_FTRACE_EVENT_FENCE),
				   0};

	pop_running_job(im, m, e, fence);
}

static void handle_drm_sched_job_queue(struct import *im, struct machine *m,
				       const struct ftrace_event *e)
{
	const struct gpu_work w = {
		{gpu_field_number(e, PB_DRM_SCHED_JOB_QUEUE_FTRACE_EVENT_FENCE_CONTEXT),
		 gpu_field_number(e, PB_DRM_SCHED_JOB_QUEUE_FTRACE_EVENT_FENCE_SEQNO)},
		true};

	add_queued_job_slice(im, m, e,
			     gpu_field_text(im, e, PB_DRM_SCHED_JOB_QUEUE_FTRACE_EVENT_NAME), &w);
}

static void handle_drm_sched_job_run(struct import *im, struct machine *m,
				     const struct ftrace_event *e)
{
	const struct gpu_work w = {
		{gpu_field_number(e, PB_DRM_SCHED_JOB_RUN_FTRACE_EVENT_FENCE_CONTEXT),
		 gpu_field_number(e, PB_DRM_SCHED_JOB_RUN_FTRACE_EVENT_FENCE_SEQNO)},
		true};

	push_running_job(im, m, e, gpu_field_text(im, e, PB_DRM_SCHED_JOB_RUN_FTRACE_EVENT_NAME),
			 &w, w.id);
}

static void handle_drm_sched_job_done(struct import *im, struct machine *m,
				      const struct ftrace_event *e)
{
	const uint64_t fence[2] = {
		gpu_field_number(e, PB_DRM_SCHED_JOB_DONE_FTRACE_EVENT_FENCE_CONTEXT),
		gpu_field_number(e, PB_DRM_SCHED_JOB_DONE_FTRACE_EVENT_FENCE_SEQNO)};

	pop_running_job(im, m, e, fence);
}

/* ---- fences ---- */

/* Returns the track of a context's timeline, or NULL_U32 if out of memory. */
static uint32_t timeline_track(struct import *im, struct machine *m, uint64_t context,
			       uint32_t name)
{
	static const struct track_type type = {
		"drm_fence", NULL, false, {{"name", true}, {"context", false}}};
	const uint64_t id[2] = {context, 0};
	struct strings *s = &im->store->strings;
	int64_t track;

	if (gpu_value_get(im, GPU_VALUE_TIMELINE, m->row, id, &track))
		return (uint32_t)track;
	track = tracks_get(
		im, m, &type,
		strings_intern_f(s, "fence-%s-%u", strings_get(s, name), (unsigned)context),
		(const int64_t[]){name, (int64_t)context});
	gpu_value_set(im, GPU_VALUE_TIMELINE, m->row, id, track);
	return (uint32_t)track;
}

static void begin_fence(struct import *im, int64_t ts, uint32_t track)
{
	const struct gpu_work *w = gpu_work_first(im, track);

	if (!w)
		return;
	add_number(im, "fence seqno", w->id[0]);
	slices_begin(im, ts, -1, track, NULL_U32, gpu_string(im, "fence"), &im->args);
}

/* The events of fences have the same fields with the same numbers. */
struct fence {
	uint32_t track; /* track of its timeline; NULL_U32: not shown */
	uint64_t context, seqno;
};

static struct fence read_fence(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint32_t timeline = gpu_field_text(im, e, PB_DMA_FENCE_INIT_FTRACE_EVENT_TIMELINE);
	struct fence f = {
		NULL_U32,
		(uint32_t)gpu_field_number(e, PB_DMA_FENCE_INIT_FTRACE_EVENT_CONTEXT),
		(uint32_t)gpu_field_number(e, PB_DMA_FENCE_INIT_FTRACE_EVENT_SEQNO),
	};

	/* A fence that consists of others has a timeline of its own, which is not shown. */
	if (timeline != gpu_string(im, "unbound"))
		f.track = timeline_track(im, m, f.context, timeline);
	return f;
}

static void push_fence(struct import *im, int64_t ts, const struct fence *f)
{
	if (gpu_work_push(im, f->track, &(struct gpu_work){{f->seqno, 0}, true}) == 1)
		begin_fence(im, ts, f->track);
}

/* Queues a fence, unless its driver emits fences: such a driver reports later when the work on a
 * fence begins. */
static void handle_fence_init(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct fence f = read_fence(im, m, e);
	const bool *emits = f.track != NULL_U32 ? gpu_work_emits_flag(im, f.track) : NULL;

	if (emits && !*emits)
		push_fence(im, e->ts, &f);
}

static void handle_fence_emit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct fence f = read_fence(im, m, e);
	bool *emits = f.track != NULL_U32 ? gpu_work_emits_flag(im, f.track) : NULL;

	if (!emits)
		return;
	if (!*emits && gpu_work_first(im, f.track)) {
		slices_end(im, e->ts, f.track, NULL_U32, NULL_U32, NULL);
		while (gpu_work_first(im, f.track))
			gpu_work_pop(im, f.track);
	}
	*emits = true;
	push_fence(im, e->ts, &f);
}

static void handle_fence_signaled(struct import *im, struct machine *m,
				  const struct ftrace_event *e)
{
	struct fence f = read_fence(im, m, e);
	const struct gpu_work *first = f.track != NULL_U32 ? gpu_work_first(im, f.track) : NULL;

	if (!first || f.seqno < first->id[0])
		return;
	gpu_work_pop(im, f.track);
	slices_end(im, e->ts, f.track, NULL_U32, NULL_U32, NULL);
	begin_fence(im, e->ts, f.track);
}

static void handle_fence_wait_start(struct import *im, struct machine *m,
				    const struct ftrace_event *e)
{
	add_number(im, "fence context",
		   (uint32_t)gpu_field_number(e, PB_DMA_FENCE_WAIT_START_FTRACE_EVENT_CONTEXT));
	add_number(im, "fence seqno",
		   (uint32_t)gpu_field_number(e, PB_DMA_FENCE_WAIT_START_FTRACE_EVENT_SEQNO));
	slices_begin(im, e->ts, -1, tracks_get_thread_track(im, m, e->utid), NULL_U32,
		     gpu_string(im, "dma_fence_wait"), &im->args);
}

static void handle_fence_wait_end(struct import *im, struct machine *m,
				  const struct ftrace_event *e)
{
	slices_end(im, e->ts, tracks_get_thread_track(im, m, e->utid), NULL_U32, NULL_U32, NULL);
}

/* ---- virtio GPUs ---- */

#define VIRTIO_DIMENSION                                                                           \
	{                                                                                          \
		"virtgpu_name", true                                                               \
	}
static const struct track_type virtio_free = {"virtgpu_num_free", NULL, true, {VIRTIO_DIMENSION}};
static const struct track_type virtio_latency = {"virtgpu_latency", NULL, true, {VIRTIO_DIMENSION}};
static const struct track_type virtio_queue = {
	"virtgpu_queue_event", NULL, false, {VIRTIO_DIMENSION, {"track_compressor_idx", false}}};

/* Returns the name of a command, which is one of the three ranges of the kernel's enum
 * virtio_gpu_ctrl_type. */
static const char *virtio_command_name(uint64_t type)
{
	static const char *const flat[] = {"GET_DISPLAY_INFO",
					   "RESOURCE_CREATE_2D",
					   "RESOURCE_UNREF",
					   "SET_SCANOUT",
					   "RESOURCE_FLUSH",
					   "TRANSFER_TO_HOST_2D",
					   "RESOURCE_ATTACH_BACKING",
					   "RESOURCE_DETACH_BACKING",
					   "GET_CAPSET_INFO",
					   "GET_CAPSET",
					   "GET_EDID",
					   "RESOURCE_ASSIGN_UUID",
					   "RESOURCE_CREATE_BLOB",
					   "SET_SCANOUT_BLOB"};
	static const char *const solid[] = {"CTX_CREATE",
					    "CTX_DESTROY",
					    "CTX_ATTACH_RESOURCE",
					    "CTX_DETACH_RESOURCE",
					    "RESOURCE_CREATE_3D",
					    "TRANSFER_TO_HOST_3D",
					    "TRANSFER_FROM_HOST_3D",
					    "SUBMIT_3D",
					    "RESOURCE_MAP_BLOB",
					    "RESOURCE_UNMAP_BLOB"};
	static const char *const cursor[] = {"UPDATE_CURSOR", "MOVE_CURSOR"};

	if (type >= 0x100 && type < 0x100 + ARRAY_SIZE(flat))
		return flat[type - 0x100];
	if (type >= 0x200 && type < 0x200 + ARRAY_SIZE(solid))
		return solid[type - 0x200];
	if (type >= 0x300 && type < 0x300 + ARRAY_SIZE(cursor))
		return cursor[type - 0x300];
	return "";
}

/* Adds a value to a counter of a queue. */
static void virtio_add_counter(struct import *im, struct machine *m, int64_t ts,
			       const struct track_type *type, int64_t queue, const char *what,
			       int64_t v)
{
	struct strings *s = &im->store->strings;
	uint32_t name = strings_intern_f(s, "Virtgpu %s %s", strings_get(s, (uint32_t)queue), what);

	rows_add_counter(im, ts, tracks_get(im, m, type, name, &queue), (double)v, NULL_U32);
}

/* Reads the queue of a command or of its answer, whose events have the same fields, and adds its
 * number of free entries as a value of a counter. Returns the name of the queue; NULL_U32 for an
 * unknown one. */
static uint32_t virtio_read_queue(struct import *im, struct machine *m,
				  const struct ftrace_event *e)
{
	uint32_t name = gpu_field_text(im, e, PB_VIRTIO_GPU_CMD_QUEUE_FTRACE_EVENT_NAME), queue;

	if (name == gpu_string(im, "control"))
		queue = gpu_string(im, "Control");
	else if (name == gpu_string(im, "cursor"))
		queue = gpu_string(im, "Cursor");
	else
		return NULL_U32;
	virtio_add_counter(
		im, m, e->ts, &virtio_free, queue, "Free",
		(uint32_t)gpu_field_number(e, PB_VIRTIO_GPU_CMD_QUEUE_FTRACE_EVENT_NUM_FREE));
	return queue;
}

static void handle_virtio_cmd_queue(struct import *im, struct machine *m,
				    const struct ftrace_event *e)
{
	uint32_t queue = virtio_read_queue(im, m, e);
	const uint64_t id[2] = {
		(uint32_t)gpu_field_number(e, PB_VIRTIO_GPU_CMD_QUEUE_FTRACE_EVENT_SEQNO), queue};
	struct strings *s = &im->store->strings;
	struct track_group *g;
	struct track_slot *slot;

	if (queue == NULL_U32)
		return;
	g = track_groups_get(im, m, &virtio_queue, (const int64_t[]){queue});
	slot = g ? track_group_get_slot(im, g, (int64_t)id[0]) : NULL;
	if (!slot)
		return;
	if (slot->track == NULL_U32)
		track_group_make_track(
			im, m, g, slot,
			strings_intern_f(s, "Virtgpu %s Queue", strings_get(s, queue)));
	slot->open++;
	slices_begin(im, e->ts, -1, slot->track, NULL_U32,
		     gpu_string(im, virtio_command_name((uint32_t)gpu_field_number(
					    e, PB_VIRTIO_GPU_CMD_QUEUE_FTRACE_EVENT_TYPE))),
		     NULL);
	/* The answer to a command with a fence waits for the GPU, so its time is not a latency. */
	if (!gpu_field_number(e, PB_VIRTIO_GPU_CMD_QUEUE_FTRACE_EVENT_FENCE_ID))
		gpu_value_set(im, GPU_VALUE_COMMAND, m->row, id, e->ts);
}

static void handle_virtio_cmd_response(struct import *im, struct machine *m,
				       const struct ftrace_event *e)
{
	uint32_t queue = virtio_read_queue(im, m, e);
	const uint64_t id[2] = {
		(uint32_t)gpu_field_number(e, PB_VIRTIO_GPU_CMD_RESPONSE_FTRACE_EVENT_SEQNO),
		queue};
	struct track_group *g;
	struct track_slot *slot;
	int64_t began;

	if (queue == NULL_U32)
		return;
	g = track_groups_get(im, m, &virtio_queue, (const int64_t[]){queue});
	slot = g ? track_group_find_slot(g, (int64_t)id[0]) : NULL;
	if (slot && slot->open) {
		track_slot_set_open(slot, slot->open - 1);
		slices_end(im, e->ts, slot->track, NULL_U32, NULL_U32, NULL);
	}
	if (gpu_value_pop(im, GPU_VALUE_COMMAND, m->row, id, &began))
		virtio_add_counter(im, m, e->ts, &virtio_latency, queue, "Latency", e->ts - began);
}

const struct event_rule gpu_rules[] = {
	{PB_FTRACE_EVENT_DRM_VBLANK_EVENT, add_vblank_event, NULL},
	{PB_FTRACE_EVENT_DRM_VBLANK_EVENT_DELIVERED, handle_vblank_delivered, NULL},
	{PB_FTRACE_EVENT_DRM_SCHED_JOB, handle_drm_sched_job, NULL},
	{PB_FTRACE_EVENT_DRM_RUN_JOB, handle_drm_run_job, NULL},
	{PB_FTRACE_EVENT_DRM_SCHED_PROCESS_JOB, handle_drm_sched_process_job, NULL},
	{PB_FTRACE_EVENT_DRM_SCHED_JOB_QUEUE, handle_drm_sched_job_queue, NULL},
	{PB_FTRACE_EVENT_DRM_SCHED_JOB_RUN, handle_drm_sched_job_run, NULL},
	{PB_FTRACE_EVENT_DRM_SCHED_JOB_DONE, handle_drm_sched_job_done, NULL},
	{PB_FTRACE_EVENT_DMA_FENCE_INIT, handle_fence_init, NULL},
	{PB_FTRACE_EVENT_DMA_FENCE_EMIT, handle_fence_emit, NULL},
	{PB_FTRACE_EVENT_DMA_FENCE_SIGNALED, handle_fence_signaled, NULL},
	{PB_FTRACE_EVENT_DMA_FENCE_WAIT_START, handle_fence_wait_start, NULL},
	{PB_FTRACE_EVENT_DMA_FENCE_WAIT_END, handle_fence_wait_end, NULL},
	{PB_FTRACE_EVENT_VIRTIO_GPU_CMD_QUEUE, handle_virtio_cmd_queue, NULL},
	{PB_FTRACE_EVENT_VIRTIO_GPU_CMD_RESPONSE, handle_virtio_cmd_response, NULL},
	{0, NULL, NULL},
};

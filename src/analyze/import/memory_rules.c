/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel events that are counters of a process's memory. */
#include "analyze/import/event_rules.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/late_tracks.h"
#include "analyze/import/remembered.h"
#include "base/core/mem.h"
#include "gen/fields.h"

static const struct track_type memory_by_thread = {"process_memory_thread_fallback",
						   NULL,
						   true,
						   {{"utid", false}, {"process_memory_key", true}}};
static const struct track_type oom_score_by_thread = {
	"oom_score_adj_thread_fallback", NULL, true, {{"utid", false}}};
static const struct track_type mm_event = {
	"mm_event",
	NULL,
	true,
	{{"upid", false}, {"mm_event_type", true}, {"mm_event_metric", true}}};
static const struct track_type mm_event_by_thread = {
	"mm_event_thread_fallback",
	NULL,
	true,
	{{"utid", false}, {"mm_event_type", true}, {"mm_event_metric", true}}};

static void add_memory(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
		       const char *key, int64_t bytes)
{
	struct strings *s = &im->store->strings;
	struct late_counter c = {.by_process = &track_process_memory,
				 .by_thread = &memory_by_thread,
				 .name = strings_intern_f(s, "mem.%s", key),
				 .keys = {strings_intern_z(s, key)}};

	late_tracks_add_value(im, m, ts, utid, &c, (double)bytes);
}

/* The fields of rss_stat and of rss_stat_throttled, which numbers them in its own way. */
static const struct rss_fields {
	uint32_t member, size, curr, mm_id;
} rss_fields = {PB_RSS_STAT_FTRACE_EVENT_MEMBER, PB_RSS_STAT_FTRACE_EVENT_SIZE,
		PB_RSS_STAT_FTRACE_EVENT_CURR, PB_RSS_STAT_FTRACE_EVENT_MM_ID},
  throttled_fields = {
	  PB_RSS_STAT_THROTTLED_FTRACE_EVENT_MEMBER, PB_RSS_STAT_THROTTLED_FTRACE_EVENT_SIZE,
	  PB_RSS_STAT_THROTTLED_FTRACE_EVENT_CURR, PB_RSS_STAT_THROTTLED_FTRACE_EVENT_MM_ID};

struct rss_stat {
	int64_t size;
	uint64_t member;
	struct pb_field mm_id, curr; /* id 0: none */
};

static struct rss_stat read_rss_stat(const struct ftrace_event *e)
{
	const struct rss_fields *fields =
		e->number == PB_FTRACE_EVENT_RSS_STAT ? &rss_fields : &throttled_fields;
	struct rss_stat r = {.size = 0};

	pb_read(&e->message, PB_TO(fields->member, &r.member), PB_TO(fields->size, &r.size),
		PB_TO_ANY(fields->mm_id, &r.mm_id), PB_TO_ANY(fields->curr, &r.curr));
	return r;
}

/*
 * Returns a thread of the process whose memory changed, or NULL_U32. The event may come from a
 * thread of another process (curr is 0). The owner is then the thread that last changed memory of
 * the same mm_id as its own.
 */
static uint32_t rss_owner_thread(struct import *im, const struct machine *m,
				 const struct ftrace_event *e, const struct rss_stat *r)
{
	int64_t *known;
	uint32_t utid;

	if (!r->mm_id.id || !r->curr.id)
		return e->utid;
	known = import_remembered(im, m, REMEMBER_MM_THREAD, r->mm_id.u64);
	if (!known)
		return NULL_U32;
	if (r->curr.u64) {
		*known = (int64_t)e->utid + 1;
		return e->utid;
	}
	utid = (uint32_t)(*known - 1); /* 0, unknown, becomes NULL_U32 */
	if (utid != NULL_U32 && !tasks_is_alive(&m->tasks, utid)) {
		*known = 0;
		return NULL_U32;
	}
	return utid;
}

static void rss_stat(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const char *const members[] = {"rss.file", "rss.anon", "swap", "rss.shmem",
					      "unreclaimable"};
	struct rss_stat r = read_rss_stat(e);
	uint32_t utid;

	if (r.size < 0) {
		stats_add(im->store, STAT_RSS_STAT_NEGATIVE_SIZE, STAT_NO_INDEX, 1);
		return;
	}
	utid = rss_owner_thread(im, m, e, &r);
	if (utid == NULL_U32)
		stats_add(im->store, STAT_RSS_STAT_UNKNOWN_THREAD_FOR_MM_ID, STAT_NO_INDEX, 1);
	else
		add_memory(im, m, e->ts, utid,
			   r.member < ARRAY_SIZE(members) ? members[r.member] : "unknown", r.size);
}

static void dmabuf_rss(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_DMABUF_RSS_STAT_FTRACE_EVENT_RSS, &f);
	add_memory(im, m, e->ts, e->utid, "dmabuf_rss", (int64_t)f.u64);
}

static void oom_score(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct late_counter c = {.by_process = &track_oom_score_adj,
				 .by_thread = &oom_score_by_thread,
				 .name = strings_intern_z(&im->store->strings, "oom_score_adj")};
	struct pb_field tid, score;

	event_field(e, PB_OOM_SCORE_ADJ_UPDATE_FTRACE_EVENT_PID, &tid);
	event_field(e, PB_OOM_SCORE_ADJ_UPDATE_FTRACE_EVENT_OOM_SCORE_ADJ, &score);
	late_tracks_add_value(im, m, e->ts, tasks_get_thread(&m->tasks, (int32_t)tid.u64), &c,
			      (double)(int32_t)score.u64);
}

static void mm_event_record(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const char *const types[] = {"min_flt", "maj_flt", "read_io",   "compaction",
					    "reclaim", "swp_flt", "kern_alloc"};
	static const struct {
		uint32_t field;
		const char *name;
	} metrics[] = {{PB_MM_EVENT_RECORD_FTRACE_EVENT_COUNT, "count"},
		       {PB_MM_EVENT_RECORD_FTRACE_EVENT_MAX_LAT, "max_lat"},
		       {PB_MM_EVENT_RECORD_FTRACE_EVENT_AVG_LAT, "avg_lat"}};
	struct strings *s = &im->store->strings;
	struct pb_field type, f;

	event_field(e, PB_MM_EVENT_RECORD_FTRACE_EVENT_TYPE, &type);
	if (type.u64 >= ARRAY_SIZE(types)) {
		stats_add(im->store, STAT_MM_UNKNOWN_TYPE, STAT_NO_INDEX, 1);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		struct late_counter c = {.by_process = &mm_event,
					 .by_thread = &mm_event_by_thread,
					 .name = strings_intern_f(s, "mem.mm.%s.%s",
								  types[type.u64], metrics[i].name),
					 .keys = {strings_intern_z(s, types[type.u64]),
						  strings_intern_z(s, metrics[i].name)}};

		event_field(e, metrics[i].field, &f);
		late_tracks_add_value(im, m, e->ts, e->utid, &c, (double)f.u64);
	}
}

const struct event_rule memory_rules[] = {
	{PB_FTRACE_EVENT_RSS_STAT, rss_stat, NULL},
	{PB_FTRACE_EVENT_RSS_STAT_THROTTLED, rss_stat, NULL},
	{PB_FTRACE_EVENT_DMABUF_RSS_STAT, dmabuf_rss, NULL},
	{PB_FTRACE_EVENT_OOM_SCORE_ADJ_UPDATE, oom_score, NULL},
	{PB_FTRACE_EVENT_MM_EVENT_RECORD, mm_event_record, NULL},
	{0, NULL, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/thresholds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"

struct threshold {
	char *counter, *name; /* owned */
	double above;
	uint32_t n_tracks; /* number of tracks it has ever applied to */
	uint32_t n_above; /* number of tracks above it now */
	bool fired; /* fired since the last call of thresholds_collect_fired() */
};

/* A counter with thresholds, as bits of their indices. */
struct watched {
	uint32_t track; /* the key */
	UT_hash_handle hh;
	uint32_t by; /* bits of the thresholds that apply to it */
	uint32_t above; /* bits of the thresholds that it is above */
	double last;
};
_Static_assert(THRESHOLDS_MAX <= 32, "a bit each");

struct thresholds {
	struct threshold all[THRESHOLDS_MAX];
	size_t n;
	struct watched *watched; /* owned */
	const char *fired[THRESHOLDS_MAX];
};

static int thresholds_add(struct thresholds *t, const Pb__EbpfCountersConfig__Trigger *c)
{
	struct threshold *x = &t->all[t->n++];

	x->counter = strdup(c->counter);
	x->name = strdup(c->name);
	x->above = c->above;
	return x->counter && x->name ? 0 : -ENOMEM;
}

/* Returns true if the entry is complete. Reports one that is not. */
static bool check_trigger(const Pb__EbpfCountersConfig__Trigger *c, struct ebpf_errors *errors)
{
	if (c->counter && *c->counter && c->name && *c->name && c->has_above && isfinite(c->above))
		return true;
	ebpf_errors_add(errors, "triggers",
			"an entry is skipped: it needs counter, above and name");
	return false;
}

int thresholds_new(const Pb__EbpfCountersConfig *c, struct ebpf_errors *errors,
		   struct thresholds **ret)
{
	struct thresholds *t;
	int r = 0;

	*ret = NULL;
	if (!c || !c->n_triggers)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_triggers && t->n < THRESHOLDS_MAX && r == 0; i++)
		if (check_trigger(c->triggers[i], errors))
			r = thresholds_add(t, c->triggers[i]);
	if (t->n == THRESHOLDS_MAX && c->n_triggers > THRESHOLDS_MAX)
		ebpf_errors_add(errors, "triggers", "only the first %u are used", THRESHOLDS_MAX);
	if (r < 0) {
		thresholds_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void thresholds_free(struct thresholds *t)
{
	if (!t)
		return;
	HASH_FREE(t->watched);
	for (size_t i = 0; i < t->n; i++) {
		free(t->all[i].counter);
		free(t->all[i].name);
	}
	free(t);
}

/* ---- values ---- */

static uint32_t find_triggers_of(struct thresholds *t, const char *counter)
{
	uint32_t by = 0;

	for (size_t i = 0; i < t->n; i++)
		if (str_glob(t->all[i].counter, counter)) {
			by |= 1u << i;
			t->all[i].n_tracks++;
		}
	return by;
}

/* Returns an entry for a new track, or NULL if no threshold applies to it or memory runs out. Its
 * last value is 0, because a monotonic counter is 0 before its first value, which is its growth. */
static struct watched *thresholds_begin_watch(struct thresholds *t, const struct track_update *seen)
{
	uint32_t by = find_triggers_of(t, seen->name);
	struct watched *w = by ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	w->track = seen->track;
	w->by = by;
	HASH_ADD(hh, t->watched, track, sizeof(w->track), w);
	if (!w->hh.tbl)
		free(TAKE_PTR(w));
	return w;
}

static void thresholds_compare(struct thresholds *t, struct watched *w,
			       const struct track_update *seen, double v)
{
	for (size_t i = 0; i < t->n; i++) {
		struct threshold *x = &t->all[i];
		uint32_t bit = 1u << i;
		bool is_above = !seen->is_last && v > x->above;

		if (!(w->by & bit) || is_above == !!(w->above & bit))
			continue;
		w->above ^= bit;
		if (!is_above) {
			x->n_above--;
			continue;
		}
		/* The trigger fires when the first of its tracks rises. */
		if (x->n_above++)
			continue;
		x->fired = true;
		log_info("linux.ebpf_counters: %s is %g, above %g: trigger %s", seen->name, v,
			 x->above, x->name);
	}
}

void thresholds_check_update(void *ctx, const struct track_update *seen)
{
	struct thresholds *t = ctx;
	struct watched *w;

	HASH_FIND(hh, t->watched, &seen->track, sizeof(seen->track), w);
	if (!w && seen->is_first)
		w = thresholds_begin_watch(t, seen);
	if (!w)
		return;
	thresholds_compare(t, w, seen, seen->total ? seen->value - w->last : seen->value);
	w->last = seen->value;
	if (!seen->is_last)
		return;
	HASH_DEL(t->watched, w);
	free(w);
}

size_t thresholds_collect_fired(struct thresholds *t, const char *const **ret_names)
{
	size_t n = 0;

	for (size_t i = 0; t && i < t->n; i++) {
		if (t->all[i].fired)
			t->fired[n++] = t->all[i].name;
		t->all[i].fired = false;
	}
	*ret_names = t ? t->fired : NULL;
	return n;
}

void thresholds_report_unused(const struct thresholds *t, struct ebpf_errors *errors)
{
	for (size_t i = 0; t && i < t->n; i++)
		if (!t->all[i].n_tracks)
			ebpf_errors_add(errors, "triggers",
					"there was no counter \"%.64s\" for the trigger %.64s",
					t->all[i].counter, t->all[i].name);
}

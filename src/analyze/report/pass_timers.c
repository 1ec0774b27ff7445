/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timers_by, latest_timers, timer_sleeps_by, longest_timer_sleeps: when timers fired, against when
 * they were due.
 *
 *	due             interrupt          callback
 *	 |---------------|------------------|
 *	 |               now of the events  hrtimer_expire_entry
 *	 |<------------ late -------------->|
 *
 * An hrtimer is due at `expires` of hrtimer_start, in its own clock. The kernel reads this clock
 * once in an interrupt, as `now`, and then calls the functions of all timers that are due, one
 * after the other. So a timer is late by now - expires, and by the time from the first callback of
 * the interrupt to its own. A timer of the wheel is due at the tick `bucket_expiry`.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/report/event_reader.h"
#include "analyze/report/pass.h"
#include "analyze/store/strings.h"
#include "base/core/hash_table.h"

enum timer_event {
	TIMER_OTHER,
	TIMER_HR_START,
	TIMER_HR_CANCEL,
	TIMER_HR_ENTRY,
	TIMER_HR_EXIT,
	TIMER_WHEEL_START,
	TIMER_WHEEL_CANCEL,
	TIMER_WHEEL_ENTRY,
	TIMER_WHEEL_EXIT,
	TIMER_IRQ_ENTRY,
	TIMER_IRQ_EXIT,
	TIMER_OF_INTERRUPT, /* does not show what the CPU did before */
};

static const char *const timer_event_names[] = {
	"hrtimer_start",     "hrtimer_cancel",	 "hrtimer_expire_entry", "hrtimer_expire_exit",
	"timer_start",	     "timer_cancel",	 "timer_expire_entry",	 "timer_expire_exit",
	"irq_handler_entry", "irq_handler_exit", "local_timer_entry"};

/* Why a timer was late; reports name them in this order. */
enum timer_reason {
	REASON_IN_TIME, /* less than LATE_NS */
	REASON_TIMER, /* another callback ran */
	REASON_INTERRUPT, /* the handler of an interrupt ran */
	REASON_IDLE, /* the CPU, or its hypervisor, took long to leave idle */
	REASON_IRQS_OFF, /* the CPU worked: interrupts were off */
	REASON_UNKNOWN, /* interrupts were off, or the hypervisor did not run the CPU */
	REASON_DEFERRABLE, /* may wait until the CPU is not idle */
	REASON_TICK, /* of the wheel: at a later tick */
};

#define LATE_NS 10000
#define LATE_MAX (INT64_MAX / 4) /* more can only come from a trace with false times */
#define FLAG_DEFERRABLE 0x00080000 /* TIMER_DEFERRABLE of the kernel */
#define RECENT 16 /* intervals that are remembered of a CPU */

struct armed_timer {
	uint64_t key; /* the hash of its address; the lowest bit is 1 for a timer of the wheel */
	int64_t expires; /* ns of its clock, or a tick */
	bool is_deferrable;
	UT_hash_handle hh;
};

struct busy_interval {
	int64_t begin, end;
	uint32_t name;
};

struct busy_list {
	struct busy_interval recent[RECENT];
	uint32_t n; /* in all; the last one is at (n - 1) % RECENT */
	bool is_open; /* the last one has no end */
};

struct timer_cpu {
	struct busy_list callbacks, interrupts;
	int64_t now, now_ts; /* of the last interrupt: time of its clock, time of its first timer */
	int64_t worked_ts; /* the last event that shows that the CPU ran */
	int64_t worked_before; /* worked_ts at the beginning of the interrupt */
};

struct fired_timer {
	int64_t ts, late; /* ts: of the callback; late: ticks for the wheel, until they are known */
	uint32_t utid, cpu, function, what; /* utid: the interrupted thread; what: see reason */
	uint8_t reason;
	bool of_wheel;
};

struct timers {
	const struct pass_input *in;
	struct armed_timer *armed; /* owned hash */
	struct timer_cpu *cpus; /* owned; by ucpu */
	size_t n_cpus, cap_cpus;
	struct fired_timer *fired; /* owned */
	size_t n, cap;
	struct strings names;
	struct budget budget;
	struct arg_list list; /* owned */
	int64_t first_tick, first_ts, last_tick, last_ts;
	bool failed;
};

/* ---- armed timers ---- */

static uint64_t timer_key(const struct timers *t, bool of_wheel)
{
	return (uint64_t)event_reader_int(&t->list, of_wheel ? "timer" : "hrtimer") << 1 | of_wheel;
}

static void handle_timer_armed(struct timers *t, bool of_wheel)
{
	int64_t bucket = event_reader_int(&t->list, "bucket_expiry");
	uint64_t key = timer_key(t, of_wheel);
	struct armed_timer *a;

	HASH_FIND(hh, t->armed, &key, sizeof(key), a);
	if (!a) {
		a = budget_alloc(&t->budget, sizeof(*a));
		if (!a)
			return;
		a->key = key;
		a = BUDGET_HASH_ADD(&t->budget, t->armed, key, a);
		if (!a)
			return;
	}
	a->expires = of_wheel && bucket ? bucket : event_reader_int(&t->list, "expires");
	a->is_deferrable = of_wheel && event_reader_int(&t->list, "flags") & FLAG_DEFERRABLE;
}

static struct armed_timer *timer_find(const struct timers *t, bool of_wheel)
{
	uint64_t key = timer_key(t, of_wheel);
	struct armed_timer *a;

	HASH_FIND(hh, t->armed, &key, sizeof(key), a);
	return a;
}

static void timer_remove(struct timers *t, struct armed_timer *a)
{
	if (!a)
		return;
	HASH_DEL(t->armed, a);
	free(a);
}

/* ---- what a CPU did ---- */

static void busy_list_begin(struct busy_list *l, int64_t ts, uint32_t name)
{
	l->recent[l->n++ % RECENT] = (struct busy_interval){.begin = ts, .end = ts, .name = name};
	l->is_open = true;
}

static void busy_list_end(struct busy_list *l, int64_t ts)
{
	if (l->is_open)
		l->recent[(l->n - 1) % RECENT].end = ts;
	l->is_open = false;
}

/* Returns the interval with the longest part between two times, or NULL, and this part. */
static const struct busy_interval *busy_list_find_longest(const struct busy_list *l, int64_t from,
							  int64_t to, int64_t *ret_ns)
{
	const struct busy_interval *longest = NULL;

	*ret_ns = 0;
	for (uint32_t i = 0; i < MIN(l->n, (uint32_t)RECENT); i++) {
		const struct busy_interval *b = &l->recent[i];
		int64_t ns = MIN(b->end, to) - MAX(b->begin, from);

		if (ns > *ret_ns) {
			*ret_ns = ns;
			longest = b;
		}
	}
	return longest;
}

/* Sets why an hrtimer was late, from what its CPU did since the timer was due. */
static void find_reason_of_delay(const struct timers *t, const struct timer_cpu *c,
				 struct fired_timer *f)
{
	const struct table *threads = &t->in->s->tables[TABLE_THREAD];
	int64_t due = f->ts - f->late, in_timer, in_interrupt;
	const struct busy_interval *timer =
		busy_list_find_longest(&c->callbacks, due, f->ts, &in_timer);
	const struct busy_interval *irq =
		busy_list_find_longest(&c->interrupts, due, f->ts, &in_interrupt);

	if (f->late < LATE_NS) {
		f->reason = REASON_IN_TIME;
	} else if (timer && in_timer >= in_interrupt && 2 * in_timer >= f->late) {
		f->reason = REASON_TIMER;
		f->what = timer->name;
	} else if (irq && 2 * in_interrupt >= f->late) {
		f->reason = REASON_INTERRUPT;
		f->what = irq->name;
	} else if (table_u8(threads, THREAD_IS_IDLE, f->utid) == 1) {
		f->reason = REASON_IDLE;
	} else {
		f->reason = c->worked_before > due ? REASON_IRQS_OFF : REASON_UNKNOWN;
	}
}

static struct timer_cpu *get_timer_cpu(struct timers *t, uint32_t ucpu)
{
	while (t->n_cpus <= ucpu) {
		if (array_reserve(&t->cpus, &t->cap_cpus, t->n_cpus + 1, sizeof(*t->cpus))) {
			t->failed = true;
			return NULL;
		}
		t->cpus[t->n_cpus++] =
			(struct timer_cpu){.worked_ts = INT64_MIN, .worked_before = INT64_MIN};
	}
	return &t->cpus[ucpu];
}

/* ---- events ---- */

static uint32_t intern_arg_text(struct timers *t, const char *key)
{
	const struct arg *a = event_reader_find(&t->list, key);

	return a && a->type == ARG_STRING && a->len
		       ? strings_intern(&t->names, a->s, a->len)
		       : strings_intern_z(&t->names, "(recorded without --ksyms)");
}

static void handle_timer_fired(struct timers *t, struct timer_cpu *c, bool of_wheel,
			       struct fired_timer f)
{
	struct armed_timer *a = timer_find(t, of_wheel);
	int64_t now = event_reader_int(&t->list, "now");

	f.function = intern_arg_text(t, "function");
	f.what = NULL_U32;
	f.of_wheel = of_wheel;
	if (of_wheel && !t->first_ts) {
		t->first_tick = now;
		t->first_ts = f.ts;
	}
	if (of_wheel) {
		t->last_tick = now;
		t->last_ts = f.ts;
	} else if (now != c->now) {
		c->now = now;
		c->now_ts = f.ts;
		c->worked_before = c->worked_ts;
	}
	if (a) {
		f.late = (int64_t)((uint64_t)now - (uint64_t)a->expires);
		f.late = MIN(MAX(f.late, (int64_t)0), LATE_MAX);
		if (!of_wheel)
			f.late += MIN(f.ts - c->now_ts, LATE_MAX);
		f.reason = a->is_deferrable ? REASON_DEFERRABLE : REASON_TICK;
		if (!of_wheel)
			find_reason_of_delay(t, c, &f);
		if (array_reserve(&t->fired, &t->cap, t->n + 1, sizeof(*t->fired)))
			t->failed = true;
		else
			t->fired[t->n++] = f;
	}
	timer_remove(t, a);
	busy_list_begin(&c->callbacks, f.ts, f.function);
}

static void read_timer_event(struct timers *t, struct timer_cpu *c, enum timer_event event,
			     struct fired_timer at)
{
	bool of_wheel = event >= TIMER_WHEEL_START;

	switch (event) {
	case TIMER_HR_START:
	case TIMER_WHEEL_START:
		handle_timer_armed(t, of_wheel);
		break;
	case TIMER_HR_CANCEL:
	case TIMER_WHEEL_CANCEL:
		timer_remove(t, timer_find(t, of_wheel));
		break;
	case TIMER_HR_ENTRY:
	case TIMER_WHEEL_ENTRY:
		handle_timer_fired(t, c, of_wheel, at);
		break;
	case TIMER_HR_EXIT:
	case TIMER_WHEEL_EXIT:
		busy_list_end(&c->callbacks, at.ts);
		break;
	case TIMER_IRQ_ENTRY:
		busy_list_begin(&c->interrupts, at.ts, intern_arg_text(t, "name"));
		break;
	case TIMER_IRQ_EXIT:
		busy_list_end(&c->interrupts, at.ts);
		break;
	default:
		break;
	}
}

/* Returns the length of a tick, from the ticks of the wheel; 0: not known. */
static int64_t estimate_tick_ns(const struct timers *t)
{
	static const int64_t known[] = {10000000, 4000000, 3333333, 1000000};
	int64_t ticks = t->last_tick - t->first_tick, ns;

	if (ticks <= 0)
		return 0;
	ns = (t->last_ts - t->first_ts) / ticks;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (ns > known[i] / 10 * 9 && ns < known[i] / 10 * 11)
			return known[i];
	return ns;
}

static void read_timers(struct timers *t, const uint8_t *kinds)
{
	const struct store *s = t->in->s;
	const struct table *e = &s->tables[TABLE_FTRACE];
	uint32_t threads = s->tables[TABLE_THREAD].rows;
	int64_t tick;
	size_t at = 0;

	for (uint32_t row = 0; row < e->rows && !t->failed && !t->budget.error; row++) {
		enum timer_event event = kinds[table_u16(e, FTRACE_KIND, row)];
		uint32_t ucpu = table_u32(e, FTRACE_CPU, row);
		struct fired_timer f = {.utid = table_u32(e, FTRACE_UTID, row), .cpu = ucpu};
		struct timer_cpu *c;

		if (f.utid >= threads || !pass_cpu_counts(t->in, ucpu))
			continue;
		f.ts = table_next_ts(e, FTRACE_TS, row, &at);
		c = get_timer_cpu(t, ucpu);
		if (!c)
			return;
		if (event == TIMER_OTHER)
			c->worked_ts = f.ts;
		if (event == TIMER_OTHER || event == TIMER_OF_INTERRUPT)
			continue;
		if (!event_reader_args(s, row, &t->list))
			t->failed = true;
		else
			read_timer_event(t, c, event, f);
	}
	tick = estimate_tick_ns(t);
	for (size_t i = 0; i < t->n; i++)
		if (t->fired[i].of_wheel &&
		    __builtin_mul_overflow(t->fired[i].late, tick, &t->fired[i].late))
			t->fired[i].late = 0;
}

static bool timer_fired_in_window(const struct timers *t, const struct fired_timer *f)
{
	return f->ts >= t->in->from && f->ts <= t->in->to;
}

static bool timers_init(struct timers *t, const struct pass_input *in)
{
	uint8_t *kinds =
		event_reader_kinds(in->s, timer_event_names, ARRAY_SIZE(timer_event_names));

	*t = (struct timers){.in = in, .budget.limit = UINT64_MAX};
	strings_init(&t->names, &t->budget);
	if (kinds)
		read_timers(t, kinds);
	t->failed |= !kinds || t->budget.error;
	free(kinds);
	return !t->failed;
}

static void timers_deinit(struct timers *t)
{
	HASH_FREE(t->armed);
	strings_deinit(&t->names);
	free(t->cpus);
	free(t->fired);
	free(t->list.args);
}

static int64_t timer_name_cell(struct pass_rows *ret, const struct timers *t, uint32_t name)
{
	int64_t cell;

	if (name == NULL_U32)
		return NULL_I64;
	cell = pass_text_id(ret);
	strbuf_puts(&ret->own_texts, strings_get(&t->names, name));
	return cell;
}

/* ---- the passes ---- */

static void add_timers(const struct timers *t, bool by_reason, struct groups *g)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct fired_timer *f = &t->fired[i];
		uint64_t key = by_reason ? f->reason : (uint64_t)f->function << 1 | f->of_wheel;

		if (timer_fired_in_window(t, f))
			groups_add(g, &(struct group_sample){
					      .key = key, .ns = f->late, .ts = f->ts - f->late});
	}
}

void pass_fill_timers(const struct pass_input *in, struct pass_rows *ret)
{
	bool by_reason = !strcmp(in->by, "reason");
	struct groups g = {.n = 0};
	struct timers t;

	ret->failed = !timers_init(&t, in);
	add_timers(&t, by_reason, &g);
	if (!ret->failed && groups_begin_fill(&g))
		add_timers(&t, by_reason, &g);
	for (size_t i = 0; i < g.n && !ret->failed && !g.failed; i++) {
		const struct group *e = &g.list[i];

		PASS_ROW(ret,
			 by_reason ? NULL_I64 : timer_name_cell(ret, &t, (uint32_t)(e->key >> 1)),
			 by_reason ? (int64_t)e->key : (int64_t)(e->key & 1), (int64_t)e->n,
			 (int64_t)e->total, groups_p50(&g, e), groups_p99(&g, e), e->longest,
			 e->longest_ts);
	}
	ret->failed |= g.failed;
	groups_deinit(&g);
	timers_deinit(&t);
}

void pass_fill_latest_timers(const struct pass_input *in, struct pass_rows *ret)
{
	struct largest l = {.most = (size_t)in->top};
	struct timers t;

	ret->failed = !timers_init(&t, in);
	for (size_t i = 0; i < t.n && !ret->failed; i++)
		if (timer_fired_in_window(&t, &t.fired[i]) && t.fired[i].reason < REASON_DEFERRABLE)
			largest_add(&l, t.fired[i].late, (uint32_t)i, 0);
	for (size_t i = 0; i < l.n && !l.failed; i++) {
		const struct fired_timer *f = &t.fired[l.items[i].row];

		PASS_ROW(ret, f->ts - f->late, f->late, f->cpu % STORE_CPUS_OF_A_MACHINE,
			 timer_name_cell(ret, &t, f->function), f->utid, f->reason,
			 timer_name_cell(ret, &t, f->what));
	}
	ret->failed |= l.failed;
	free(l.items);
	timers_deinit(&t);
}

/* A sleep that a timer ended: late until the wakeup, waited from then until the thread ran. */
struct timer_sleep {
	uint32_t utid;
	int64_t ts, late, waited; /* ts: of the wakeup */
};

/* Finds the next sleep of a chosen thread in the window. */
static bool next_timer_sleep(const struct pass_input *in, uint32_t *next, struct timer_sleep *ret)
{
	const struct table *t = &in->s->tables[TABLE_LATE_TIMER];
	const struct table *states = &in->s->tables[TABLE_THREAD_STATE];

	while (*next < t->rows) {
		uint32_t at = (*next)++, row = table_u32(t, LATE_TIMER_STATE, at);

		*ret = (struct timer_sleep){.utid = table_u32(states, STATE_UTID, row),
					    .ts = table_ts(states, STATE_TS, row),
					    .late = table_i64(t, LATE_TIMER_NS, at),
					    .waited = table_dur(states, STATE_DUR, row)};
		if (in->chosen[ret->utid] && ret->ts >= in->from && ret->ts < in->to &&
		    ret->waited >= 0)
			return true;
	}
	return false;
}

/* Adds the sleeps to groups. *longest, which the caller frees, gets the longest sleep of each group
 * by the group's number. */
static void add_sleeps(const struct pass_input *in, const struct pass_who *who, struct groups *g,
		       struct timer_sleep **longest, size_t *cap, bool *failed)
{
	struct timer_sleep sleep;
	uint32_t next = 0;

	while (!*failed && next_timer_sleep(in, &next, &sleep)) {
		const struct group *group = groups_add(
			g,
			&(struct group_sample){.key = pass_find_who_at(who, sleep.utid, sleep.ts),
					       .ns = sleep.late + sleep.waited,
					       .ts = sleep.ts - sleep.late});
		size_t n = group ? (size_t)(group - g->list) : 0;

		if (!group || g->filling)
			continue;
		if (array_reserve(longest, cap, n + 1, sizeof(**longest)))
			*failed = true;
		else if (group->longest_ts == sleep.ts - sleep.late)
			(*longest)[n] = sleep;
	}
}

void pass_fill_timer_sleeps(const struct pass_input *in, struct pass_rows *ret)
{
	struct timer_sleep *longest = NULL;
	struct groups g = {.n = 0};
	struct pass_who who;
	size_t cap = 0;

	ret->failed = !pass_who_init(&who, in);
	if (!ret->failed)
		add_sleeps(in, &who, &g, &longest, &cap, &ret->failed);
	if (!ret->failed && groups_begin_fill(&g))
		add_sleeps(in, &who, &g, &longest, &cap, &ret->failed);
	for (size_t i = 0; i < g.n && !ret->failed && !g.failed; i++) {
		const struct group *e = &g.list[i];

		PASS_ROW(ret, pass_who_value(&who, (uint32_t)e->key), (int64_t)e->n,
			 (int64_t)e->total, groups_p50(&g, e), groups_p99(&g, e), e->longest,
			 e->longest_ts, longest[i].late, longest[i].waited);
	}
	ret->failed |= g.failed;
	free(longest);
	groups_deinit(&g);
	pass_who_deinit(&who);
}

void pass_fill_longest_timer_sleeps(const struct pass_input *in, struct pass_rows *ret)
{
	struct largest l = {.most = (size_t)in->top};
	struct timer_sleep sleep;
	uint32_t next = 0, at = 0;

	while (next_timer_sleep(in, &next, &sleep))
		largest_add(&l, sleep.late + sleep.waited, next - 1, 0);
	for (size_t i = 0; i < l.n && !l.failed; i++) {
		at = l.items[i].row;
		next_timer_sleep(in, &at, &sleep);
		PASS_ROW(ret, sleep.utid, sleep.ts - sleep.late, sleep.late, sleep.waited);
	}
	ret->failed |= l.failed;
	free(l.items);
}

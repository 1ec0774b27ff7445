/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: random_events SEED FILE
 *
 * 8 threads write 10,000 events of every kind, chosen by the seed, and FILE gets what a reader of
 * the trace must find, a line each in any order:
 *
 *	S|TRACK|NAME|CATEGORY|TIME|DURATION|DEPTH|ARGUMENTS     slices and instants
 *	C|TRACK|TIME|VALUE                                      counters
 *	F|TIME|TIME                                             flows
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(one, "one");
SONDA_CATEGORY_DEFINE(two, "two", "Another");
SONDA_CATEGORY_DEFINE(both, "one,two");
SONDA_DYNAMIC_CATEGORY_DEFINE(any);

#define THREADS 8
#define EVENTS 1250 /* of each thread */
#define NAMES 20
#define KEYS 10
#define MAX_DEPTH 12
#define MAX_ARGS 64
#define TEXT 2048

static struct sonda_string names[NAMES], keys[KEYS];
static char name_texts[NAMES][16], key_texts[KEYS][16];
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;
static uint64_t base, seed;

struct open_slice {
	uint64_t time;
	char text[64]; /* name and category */
	char args[TEXT];
};

struct thread {
	pthread_t id;
	int number;
	uint64_t rng;
	uint64_t time;
	uint64_t serial; /* of tracks and flows */
	char name[16];
	struct open_slice open[MAX_DEPTH];
	int depth;
	/* of the event that is being made */
	struct sonda_arg args[MAX_ARGS];
	int n_args;
	char model[TEXT];
	char strings[4][256];
	struct sonda_track counters[3];
	char counter_names[3][32];
	int64_t sum;
};

static uint64_t next(struct thread *t)
{
	uint64_t z = t->rng += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned below(struct thread *t, unsigned n)
{
	return (unsigned)(next(t) % n);
}

__attribute__((format(printf, 1, 2))) static void expect(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	pthread_mutex_lock(&file_lock);
	vfprintf(file, format, list);
	pthread_mutex_unlock(&file_lock);
	va_end(list);
}

/* ---- arguments ---- */

__attribute__((format(printf, 2, 3))) static void model(struct thread *t, const char *format, ...)
{
	size_t len = strlen(t->model);
	va_list list;

	va_start(list, format);
	vsnprintf(t->model + len, sizeof(t->model) - len, format, list);
	va_end(list);
}

static void add(struct thread *t, struct sonda_arg a)
{
	t->args[t->n_args++] = a;
}

/* Numbers of few and of many bits. */
static uint64_t number(struct thread *t)
{
	return next(t) >> below(t, 64);
}

static void add_annotation(struct thread *t, unsigned key, char *text)
{
	struct sonda_string *k = &keys[key];
	uint64_t v = number(t);
	size_t len = below(t, 10) ? below(t, 20) : below(t, 256);

	switch (below(t, 9)) {
	case 0:
		add(t, sonda_arg_u(SONDA_ARG_INT, k, v));
		model(t, " %s=int:%lld", k->text, (long long)v);
		break;
	case 1:
		add(t, sonda_arg_u(SONDA_ARG_UINT, k, v));
		model(t, " %s=uint:%lld", k->text, (long long)v);
		break;
	case 2:
		add(t, sonda_arg_u(SONDA_ARG_BOOL, k, v & 1));
		model(t, " %s=bool:%d", k->text, (int)(v & 1));
		break;
	case 3:
		add(t, sonda_arg_d(SONDA_ARG_DOUBLE, k, (double)(v % 1000) / 4));
		model(t, " %s=real:%.2f", k->text, (double)(v % 1000) / 4);
		break;
	case 4:
		for (size_t i = 0; i < len; i++)
			text[i] = (char)('a' + below(t, 26));
		text[len] = 0;
		add(t, sonda_arg_p(SONDA_ARG_STRING, k, text, SONDA_LEN_TEXT));
		model(t, " %s=string:%s", k->text, text);
		break;
	case 5:
		add(t, sonda_arg_u(SONDA_ARG_POINTER, k, v));
		model(t, " %s=pointer:%lld", k->text, (long long)v);
		break;
	case 6:
		add(t, sonda_arg_p(SONDA_ARG_INTERNED, k, &names[v % NAMES], 0));
		model(t, " %s=string:%s", k->text, names[v % NAMES].text);
		break;
	case 7:
		add(t, sonda_arg_u(SONDA_ARG_DICT, k, 0));
		add(t, sonda_arg_named(SONDA_INT_ITEM(v % 100), "z"));
		add(t, sonda_arg_end(SONDA_ARG_CLOSE));
		model(t, " %s.z=int:%d", k->text, (int)(v % 100));
		break;
	case 8:
		add(t, sonda_arg_u(SONDA_ARG_ARRAY, k, 0));
		add(t, SONDA_INT_ITEM(v % 100));
		add(t, SONDA_BOOL_ITEM(v & 1));
		add(t, sonda_arg_end(SONDA_ARG_CLOSE));
		model(t, " %s[0]=int:%d %s[1]=bool:%d", k->text, (int)(v % 100), k->text,
		      (int)(v & 1));
		break;
	}
}

/* Begins an event: its time, and some annotations with different keys in their order. */
static void begin_args(struct thread *t, bool end)
{
	unsigned key = end ? KEYS / 2 : 0, last = end ? KEYS : KEYS / 2;
	int n = 0;

	t->n_args = 0;
	t->model[0] = 0;
	t->time += 1 + number(t) % 100000;
	add(t, SONDA_TIMESTAMP(t->time));
	for (; key < last && n < 4; key++)
		if (below(t, 4) == 0)
			add_annotation(t, key, t->strings[n++]);
}

static void write_event(struct thread *t, enum sonda_event_type type, char *text, size_t size)
{
	static struct sonda_category *const categories[] = {&one, &two, &both, &any};
	static const char *const category_names[] = {"one", "two", "one,two", "text"};
	unsigned c = below(t, 4), n = below(t, NAMES);
	char dynamic[32];

	if (c == 3)
		add(t, SONDA_IN_CATEGORY("text"));
	add(t, sonda_arg_end(SONDA_ARG_LIST_END));
	if (type != SONDA_EVENT_BEGIN && type != SONDA_EVENT_INSTANT) {
		sonda_event(categories[c], type, NULL, t->args);
	} else if (below(t, 4)) {
		sonda_event(categories[c], type, &names[n], t->args);
		snprintf(text, size, "%s|%s", names[n].text, category_names[c]);
	} else {
		snprintf(dynamic, sizeof(dynamic), "dynamic %u", below(t, 1000));
		sonda_event_dynamic(categories[c], type, dynamic, t->args);
		snprintf(text, size, "%s|%s", dynamic, category_names[c]);
		memset(dynamic, '!', sizeof(dynamic) - 1); /* it is copied */
	}
}

/* ---- events ---- */

static void begin_slice(struct thread *t)
{
	struct open_slice *o = &t->open[t->depth++];

	begin_args(t, false);
	write_event(t, SONDA_EVENT_BEGIN, o->text, sizeof(o->text));
	o->time = t->time;
	memcpy(o->args, t->model, sizeof(o->args));
}

static void expect_slice(struct thread *t, long long duration, const char *end_args)
{
	const struct open_slice *o = &t->open[--t->depth];

	expect("S|%s|%s|%llu|%lld|%d|%s%s\n", t->name, o->text, (unsigned long long)o->time,
	       duration, t->depth, o->args, end_args);
}

static void end_slice(struct thread *t)
{
	begin_args(t, true);
	write_event(t, SONDA_EVENT_END, NULL, 0);
	expect_slice(t, (long long)(t->time - t->open[t->depth - 1].time), t->model);
}

static void instant(struct thread *t)
{
	char text[64];

	begin_args(t, false);
	write_event(t, SONDA_EVENT_INSTANT, text, sizeof(text));
	expect("S|%s|%s|%llu|0|%d|%s\n", t->name, text, (unsigned long long)t->time, t->depth,
	       t->model);
}

static void counter(struct thread *t)
{
	unsigned which = below(t, 3);
	int64_t v = (int64_t)(number(t) % 1000000) - 500000;

	t->n_args = 0;
	t->time += 1 + number(t) % 1000;
	add(t, SONDA_TIMESTAMP(t->time));
	add(t, SONDA_TRACK(&t->counters[which]));
	if (which == 2)
		add(t, sonda_arg_d(SONDA_ARG_COUNTER_DOUBLE, NULL, (double)v / 4));
	else
		add(t, sonda_arg_u(SONDA_ARG_COUNTER_INT, NULL, (uint64_t)v));
	write_event(t, SONDA_EVENT_COUNTER, NULL, 0);
	expect("C|%s|%llu|%.2f\n", t->counters[which].name, (unsigned long long)t->time,
	       which == 2 ? (double)v / 4 : (double)v);
}

/* An operation on a track of its own, that ends in the future: later events are before it. */
static void operation(struct thread *t)
{
	uint64_t id = (uint64_t)t->number << 32 | ++t->serial, end;
	struct sonda_track thread = sonda_track_thread();
	struct sonda_track ops = sonda_track_named("ops", 0, below(t, 2) ? NULL : &thread);
	struct sonda_track track = sonda_track_named("op", id, &ops);
	char text[64];

	begin_args(t, false);
	add(t, SONDA_TRACK(&track));
	write_event(t, SONDA_EVENT_BEGIN, text, sizeof(text));
	end = t->time + 1 + number(t) % 10000000000;
	t->n_args = 0;
	add(t, SONDA_TIMESTAMP(end));
	add(t, SONDA_TRACK(&track));
	write_event(t, SONDA_EVENT_END, NULL, 0);
	expect("S|op|%s|%llu|%lld|0|%s\n", text, (unsigned long long)t->time,
	       (long long)(end - t->time), t->model);
}

static void flow(struct thread *t)
{
	uint64_t id = (uint64_t)t->number << 32 | ++t->serial, from = 0;
	char text[64];

	for (int i = 0; i < 2; i++) {
		begin_args(t, false);
		add(t, i ? SONDA_FLOW_END(id) : SONDA_FLOW(id));
		write_event(t, SONDA_EVENT_INSTANT, text, sizeof(text));
		expect("S|%s|%s|%llu|0|%d|%s\n", t->name, text, (unsigned long long)t->time,
		       t->depth, t->model);
		if (i)
			expect("F|%llu|%llu\n", (unsigned long long)from,
			       (unsigned long long)t->time);
		from = t->time;
	}
}

static void *run(void *arg)
{
	struct thread *t = arg;

	snprintf(t->name, sizeof(t->name), "random-%d", t->number);
	prctl(PR_SET_NAME, t->name);
	for (int i = 0; i < 3; i++) {
		snprintf(t->counter_names[i], sizeof(t->counter_names[i]), "counter %d.%d",
			 t->number, i);
		t->counters[i] = sonda_track_counter(t->counter_names[i], NULL);
		t->counters[i].is_incremental = i == 1;
	}
	t->time = base;
	for (int i = 0; i < EVENTS; i++) {
		unsigned what = below(t, 100);

		if (what < 30 && t->depth < MAX_DEPTH)
			begin_slice(t);
		else if (what < 60 && t->depth > 0)
			end_slice(t);
		else if (what < 75)
			instant(t);
		else if (what < 90)
			counter(t);
		else if (what < 96)
			operation(t);
		else
			flow(t);
	}
	while (t->depth > 0)
		expect_slice(t, -1, "");
	return NULL;
}

int main(int argc, char **argv)
{
	static struct thread threads[THREADS];
	struct sonda_init_options o = {.size = sizeof(o), .shm_size = 8u << 20};

	if (argc != 3 || !(file = fopen(argv[2], "w")))
		return 2;
	seed = strtoull(argv[1], NULL, 10);
	for (int i = 0; i < NAMES; i++) {
		snprintf(name_texts[i], sizeof(name_texts[i]), "name %d", i);
		names[i].text = name_texts[i];
	}
	for (int i = 0; i < KEYS; i++) {
		snprintf(key_texts[i], sizeof(key_texts[i]), "key%d", i);
		keys[i].text = key_texts[i];
	}
	if (sonda_init(&o) < 0 || sonda_wait_connected(20000) < 0)
		return 1;
	while (!sonda_category_enabled(&one))
		usleep(1000);
	base = sonda_now();
	for (int i = 0; i < THREADS; i++) {
		threads[i].number = i;
		threads[i].rng = seed * THREADS + (uint64_t)i;
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
	sonda_shutdown();
	return fclose(file) == 0 ? 0 : 1;
}

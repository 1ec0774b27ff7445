/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: event_sessions DIR [PLUGIN]
 *
 * A program that records its own track events through sessions of its own, so that it knows what
 * each of them must have. tests/interop/test_event_sessions.sh reads the traces that are left in
 * DIR. PLUGIN has a second copy of the library.
 */
#define _GNU_SOURCE 1
#include <sonda/sonda.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SONDA_CATEGORY_DEFINE(own, "own", "Events of this program");

#define PATIENCE 20000
#define MS 1000000u
/* If the library did not answer a stop, the service would wait for it longer than PATIENCE. */
#define NEVER_MS 600000u

static const char *dir;
static unsigned troubles;

#define MUST(what)                                                                                 \
	do {                                                                                       \
		int r_ = (what);                                                                   \
		if (r_ != 0) {                                                                     \
			fprintf(stderr, "%s: %s\n", #what, strerror(-r_));                         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "not so: %s\n", #what);                                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void on_trouble(void *ctx, const char *sentence)
{
	(void)ctx;
	fprintf(stderr, "%s\n", sentence);
	__atomic_fetch_add(&troubles, strstr(sentence, "too many sessions") != NULL,
			   __ATOMIC_RELAXED);
}

/* ---- a session of track events ---- */

static void put_data_source(struct sonda_packet *m, const char *categories)
{
	sonda_packet_open(m, 2); /* TraceConfig.data_sources */
	sonda_packet_open(m, 1);
	sonda_packet_str(m, 1, "track_event");
	sonda_packet_open(m, 113); /* TrackEventConfig: disabled, enabled categories */
	sonda_packet_str(m, 1, "*");
	sonda_packet_str(m, 2, categories);
	sonda_packet_close(m);
	sonda_packet_close(m);
	sonda_packet_close(m);
}

/* instances: how often the config asks for track events. */
static struct sonda_session *start_instances(const char *categories, unsigned instances)
{
	struct sonda_packet *m = sonda_message_new();
	struct sonda_session *s = NULL;
	const void *config;
	size_t len;

	CHECK(m);
	sonda_packet_open(m, 1); /* TraceConfig.buffers */
	sonda_packet_u64(m, 1, 8192);
	sonda_packet_close(m);
	for (unsigned i = 0; i < instances; i++)
		put_data_source(m, categories);
	sonda_packet_u64(m, 23, NEVER_MS); /* TraceConfig.data_source_stop_timeout_ms */
	config = sonda_message_data(m, &len);
	MUST(sonda_session_new(NULL, PATIENCE, &s));
	if (sonda_session_start(s, config, len, PATIENCE) != 0) {
		fprintf(stderr, "%s\n", sonda_session_error(s));
		exit(1);
	}
	sonda_message_free(m);
	return s;
}

static struct sonda_session *start(const char *categories)
{
	return start_instances(categories, 1);
}

/* Stops, writes DIR/NAME and frees. */
static void finish(struct sonda_session *s, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	MUST(sonda_session_stop(s, PATIENCE));
	MUST(sonda_session_read_fd(s, fd, PATIENCE));
	close(fd);
	sonda_session_free(s);
}

/* ---- the cases ---- */

/* There are eight instances. Four sessions of two have them all (a user can have five sessions);
 * the fifth starts and ends without a wait for one. */
static void nine_instances(void)
{
	struct sonda_session *s[5];
	char name[16];

	for (unsigned i = 0; i < 5; i++)
		s[i] = start_instances("own", i < 4 ? 2 : 1);
	CHECK(troubles == 1);
	SONDA_INSTANT(own, "of nine");
	for (unsigned i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "nine.%u", i);
		finish(s[i], name);
	}
}

static void on_off_on(void)
{
	static const char *const names[] = {"in the first", "in the second", "in the third"};
	static const char *const files[] = {"first", "second", "third"};

	for (unsigned i = 0; i < 3; i++) {
		struct sonda_session *s;

		SONDA_INSTANT(own, "outside");
		s = start("own");
		CHECK(sonda_category_enabled(&own));
		SONDA_INSTANT_DYNAMIC(own, names[i]);
		finish(s, files[i]);
		CHECK(!sonda_category_enabled(&own));
	}
	SONDA_INSTANT(own, "outside");
}

static bool service_lists(struct sonda_session *s, const char *text)
{
	void *state;
	size_t len;
	bool found;

	MUST(sonda_session_query(s, PATIENCE, &state, &len));
	found = memmem(state, len, text, strlen(text));
	free(state);
	return found;
}

/* A category that comes while a session runs, and one that the session does not want. */
static void late_category(void)
{
	static struct sonda_category late = {.texts = {"late.wanted", "Came late", "a tag"}};
	static struct sonda_category other = {.texts = {"other.unwanted"}};
	struct sonda_session *s = start("late*");

	CHECK(!service_lists(s, "late.wanted"));
	sonda_category_add(&late);
	sonda_category_add(&other);
	CHECK(sonda_category_enabled(&late) && !sonda_category_enabled(&other));
	SONDA_INSTANT(late, "late event");
	SONDA_INSTANT(other, "unwanted event");
	/* The list reaches the service by and by. */
	for (unsigned i = 0; !service_lists(s, "other.unwanted"); i++) {
		CHECK(i < PATIENCE / 10);
		usleep(10000);
	}
	CHECK(service_lists(s, "late.wanted") && service_lists(s, "Came late") &&
	      service_lists(s, "a tag"));
	finish(s, "late");
	sonda_category_remove(&late);
	sonda_category_remove(&other);
}

#define DEEP 600

static void bad_nesting(void)
{
	struct sonda_track crossed = sonda_track_named("crossed", 0, NULL);
	struct sonda_track deep = sonda_track_named("deep", 0, NULL);
	struct sonda_string outer = {.text = "outer"};
	struct sonda_session *s = start("own");
	uint64_t base = sonda_now();
	const struct sonda_arg end_outer[] = {SONDA_TRACK(&crossed), SONDA_TIMESTAMP(base + 2 * MS),
					      SONDA_LIST_END_};

	SONDA_BEGIN(own, "outer", SONDA_TRACK(&crossed), SONDA_TIMESTAMP(base));
	SONDA_BEGIN(own, "inner", SONDA_TRACK(&crossed), SONDA_TIMESTAMP(base + MS));
	sonda_event(&own, SONDA_EVENT_END, &outer, end_outer); /* although inner is open */
	SONDA_END(own, SONDA_TRACK(&crossed), SONDA_TIMESTAMP(base + 5 * MS));
	SONDA_INSTANT(own, "after", SONDA_TRACK(&crossed), SONDA_TIMESTAMP(base + 6 * MS));
	for (unsigned i = 0; i < DEEP; i++)
		SONDA_BEGIN(own, "level", SONDA_TRACK(&deep), SONDA_TIMESTAMP(base + i));
	for (unsigned i = 0; i < DEEP; i++)
		SONDA_END(own, SONDA_TRACK(&deep), SONDA_TIMESTAMP(base + MS + i));
	finish(s, "nesting");
}

/* A session in a program's own loop: nothing blocks between its begin and the end of tracing. */
static void own_loop(void)
{
	struct sonda_packet *m = sonda_message_new();
	unsigned seen = 0, sources = 0;
	struct sonda_session_event e;
	struct sonda_session *s = NULL;
	struct pollfd p = {.events = POLLIN};
	const void *config;
	size_t len;

	MUST(sonda_session_new(NULL, PATIENCE, &s));
	p.fd = sonda_session_fd(s);
	CHECK(p.fd >= 0 && p.fd == sonda_session_fd(s));
	sonda_packet_open(m, 1);
	sonda_packet_u64(m, 1, 1024);
	sonda_packet_close(m);
	put_data_source(m, "own");
	config = sonda_message_data(m, &len);
	CHECK(poll(&p, 1, 0) == 0 && sonda_session_next_event(s, &e) == 0);
	MUST(sonda_session_begin(s, config, len));
	CHECK(sonda_session_begin(s, config, len) == -EBUSY);
	while (!(seen & 1u << SONDA_SESSION_ENDED)) {
		CHECK(poll(&p, 1, PATIENCE) == 1);
		CHECK(sonda_session_next_event(s, &e) == 1);
		seen |= 1u << e.type;
		sources += e.type == SONDA_SESSION_SOURCE_STARTED &&
			   strcmp(e.name, "track_event") == 0 &&
			   strstr(e.producer, "event_sessions");
		if (e.type != SONDA_SESSION_ALL_STARTED)
			continue;
		CHECK(sonda_category_enabled(&own));
		SONDA_INSTANT(own, "in a loop");
		MUST(sonda_session_end(s));
	}
	CHECK(seen == (1u << SONDA_SESSION_SOURCE_STARTED | 1u << SONDA_SESSION_SOURCE_STOPPED |
		       1u << SONDA_SESSION_ALL_STARTED | 1u << SONDA_SESSION_ENDED) ||
	      seen == (1u << SONDA_SESSION_SOURCE_STARTED | 1u << SONDA_SESSION_ALL_STARTED |
		       1u << SONDA_SESSION_ENDED));
	CHECK(sources >= 1);
	finish(s, "loop");
	sonda_message_free(m);
}

/* Two copies of the library are two producers, of one process and its threads. */
static void two_copies(const char *plugin)
{
	/* DEEPBIND: the plugin uses the copy that is in it. */
	void *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	int (*begin)(void) = lib ? (int (*)(void))dlsym(lib, "plugin_begin") : NULL;
	void (*event)(void) = lib ? (void (*)(void))dlsym(lib, "plugin_event") : NULL;
	struct sonda_session *s;

	if (!begin || !event) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	MUST(begin());
	s = start("own");
	SONDA_BEGIN(own, "of the program");
	event();
	SONDA_END(own);
	finish(s, "copies");
	dlclose(lib);
}

int main(int argc, char **argv)
{
	struct sonda_init_options o = {.size = sizeof(o), .on_trouble = on_trouble};

	if (argc < 2)
		return 2;
	dir = argv[1];
	MUST(sonda_init(&o));
	MUST(sonda_wait_connected(PATIENCE));
	nine_instances();
	on_off_on();
	late_category();
	bad_nesting();
	own_loop();
	if (argc > 2)
		two_copies(argv[2]);
	return 0;
}

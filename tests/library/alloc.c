/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: alloc OUT [in-process]
 *
 * Uses the library from sonda_init() to sonda_shutdown(), with a session of its own: for a run in
 * which one allocation fails (tests/system/test_nth_alloc.sh); or with the service in this process
 * and a config of text. Ends with 0; with 3 if a call has failed, after which the rest is done all
 * the same; never with a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonda/config.h>
#include <sonda/service.h>
#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(alloc, "alloc", "Events", "tag");
SONDA_CATEGORY_DEFINE(group, "alloc,other");
SONDA_DYNAMIC_CATEGORY_DEFINE(any);

static int patience = 20000; /* ms */
static bool may_time_out;
static int failed;

static void try(const char *what, int r)
{
	if (r == 0)
		return;
	failed = 1;
	fprintf(stderr, "%s: %s\n", what, strerror(-r));
	if (r == -ETIMEDOUT && !may_time_out)
		abort(); /* one allocation has failed: the library must tell, or try again */
}
#define TRY(call) try(#call, call)

static struct sonda_data_source source = SONDA_DATA_SOURCE_INIT;

static void *write_events(void *arg)
{
	struct sonda_track parent = sonda_track_named("parent", 0, NULL);
	char name[32];

	for (unsigned i = 0; i < 300; i++) {
		struct sonda_track t = sonda_track_named("track", i, &parent);
		struct sonda_track counter = sonda_track_counter("counter", &t);

		snprintf(name, sizeof(name), "dynamic %u", i);
		SONDA_BEGIN(alloc, "slice", SONDA_TRACK(&t), SONDA_INT("i", i), SONDA_HERE(),
			    SONDA_DICT("d", SONDA_STRING("text", name)));
		SONDA_INSTANT_DYNAMIC(any, name, SONDA_IN_CATEGORY(name), SONDA_FLOW(i));
		SONDA_INSTANT(group, "of a group", SONDA_LOG(SONDA_LOG_INFO, name),
			      SONDA_INTERNED("interned", "value"));
		SONDA_END(alloc, SONDA_TRACK(&t));
		SONDA_COUNTER(alloc, &counter, i);
	}
	SONDA_TRACE(&source, w)
	{
		sonda_packet_u64(sonda_packet_begin(w), 8, sonda_now());
		sonda_packet_end(w);
	}
	return arg;
}

static void put_source(struct sonda_packet *m, const char *name)
{
	sonda_packet_open(m, 2);
	sonda_packet_open(m, 1);
	sonda_packet_str(m, 1, name);
	sonda_packet_close(m);
	sonda_packet_close(m);
}

static int start(struct sonda_session *s)
{
	struct sonda_packet *m = sonda_message_new();
	const void *config = NULL;
	size_t len = 0;
	int r = -1;

	if (!m)
		return -1;
	sonda_packet_open(m, 1);
	sonda_packet_u64(m, 1, 1024);
	sonda_packet_close(m);
	put_source(m, "track_event");
	put_source(m, "sonda.test.alloc");
	config = sonda_message_data(m, &len);
	if (config)
		r = sonda_session_start(s, config, len, patience);
	sonda_message_free(m);
	return r;
}

static int start_by_text(struct sonda_session *s)
{
	void *config;
	char *errors = NULL;
	size_t len;
	int r = sonda_config_from_text(
		"buffers { size_kb: 1024 } data_sources { config { name: \"track_event\" } }\n"
		"data_sources { config { name: \"sonda.test.alloc\" } }",
		&config, &len, &errors);

	free(errors);
	if (r < 0)
		return r;
	r = sonda_session_start(s, config, len, patience);
	free(config);
	return r;
}

/* b: NULL for the system's service */
static void record(struct sonda_backend *b, const char *out)
{
	int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct sonda_category late = {.texts = {"late", "Added while a session runs"}};
	struct sonda_session *s = NULL;
	pthread_t thread;
	void *answer = NULL;
	size_t len;
	int r;

	TRY(b ? sonda_session_new_on(b, patience, &s) : sonda_session_new(NULL, patience, &s));
	if (!s)
		return;
	r = b ? start_by_text(s) : start(s);
	try("start", r);
	sonda_category_add(&late);
	if (pthread_create(&thread, NULL, write_events, NULL) == 0)
		pthread_join(thread, NULL);
	write_events(NULL);
	if (r == 0) {
		TRY(sonda_session_query(s, patience, &answer, &len));
		free(answer);
		TRY(sonda_session_flush(s, patience));
		TRY(sonda_session_stop(s, patience));
		TRY(sonda_session_read_fd(s, fd, patience));
	}
	sonda_session_free(s);
	sonda_category_remove(&late);
	close(fd);
}

static void record_in_process(const char *out)
{
	const struct sonda_data_source_options o = {.size = sizeof(o), .name = "sonda.test.alloc"};
	const struct sonda_init_options init = {.size = sizeof(init),
						.backends = SONDA_BACKEND_NONE};
	struct sonda_backend_options in_process = {.size = sizeof(in_process),
						   .connect = sonda_service_connect};
	struct sonda_service *service = NULL;
	struct sonda_backend *b = NULL;

	TRY(sonda_data_source_register(&source, &o));
	TRY(sonda_service_start(NULL, &service));
	TRY(sonda_init(&init));
	in_process.ctx = service;
	if (service)
		TRY(sonda_backend_add(&in_process, &b));
	if (b) {
		TRY(sonda_backend_wait(b, patience));
		record(b, out);
	}
	sonda_backend_remove(b);
	sonda_data_source_unregister(&source);
	sonda_shutdown();
	sonda_service_stop(service);
}

int main(int argc, char **argv)
{
	const struct sonda_data_source_options o = {
		.size = sizeof(o), .name = "sonda.test.alloc", .thread_state_size = 64};

	const struct sonda_init_options init = {.size = sizeof(init),
						.startup_categories = "alloc"};

	if (argc == 3) {
		/* A data source that the service has no memory to start is never started. */
		may_time_out = true;
		patience = 3000;
		record_in_process(argv[1]);
		return failed ? 3 : 0;
	}
	if (argc != 2)
		return 2;
	TRY(sonda_data_source_register(&source, &o));
	TRY(sonda_init(&init));
	SONDA_BEGIN(alloc, "start");
	TRY(sonda_wait_connected(patience));
	TRY(sonda_activate_triggers((const char *const[]){"alloc"}, 1, 0));
	record(NULL, argv[1]);
	sonda_data_source_unregister(&source);
	sonda_shutdown();
	return failed ? 3 : 0;
}

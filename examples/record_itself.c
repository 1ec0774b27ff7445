/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that records itself and writes a trace, without root, without daemons, and without a
 * socket that others can connect to: the tracing service runs on a thread of the program.
 *
 *	cc -o record_itself record_itself.c $(pkg-config --cflags --libs sonda-service)
 *	./record_itself trace.pftrace
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonda/config.h>
#include <sonda/service.h>
#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(math, "math", "Sums and their parts");

#define ROUNDS 20
#define PARTS 5
#define PATIENCE_MS 5000

static double sum_part(int part)
{
	double sum = 0;

	SONDA_SCOPE(math, "part", SONDA_INT("number", part));
	for (int i = 1; i < 20000; i++)
		sum += 1.0 / ((double)i * (i + part));
	return sum;
}

static void work(void)
{
	struct sonda_track track = sonda_track_counter("sum", NULL);
	double sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		SONDA_SCOPE(math, "round", SONDA_INT("round", i));
		for (int part = 1; part <= PARTS; part++)
			sum += sum_part(part);
		SONDA_COUNTER_DOUBLE(math, &track, sum);
	}
}

static int start(struct sonda_session *session)
{
	static const char text[] = "buffers { size_kb: 4096 }\n"
				   "data_sources { config { name: \"track_event\" } }\n";
	void *config;
	size_t len;
	int r = sonda_config_from_text(text, &config, &len, NULL);

	if (r < 0)
		return r;
	r = sonda_session_start(session, config, len, PATIENCE_MS);
	free(config);
	return r;
}

static int record(struct sonda_backend *backend, int file)
{
	struct sonda_session *session;
	int r = sonda_session_new_on(backend, PATIENCE_MS, &session);

	if (r < 0)
		return r;
	r = start(session);
	if (r == 0) {
		work();
		r = sonda_session_stop(session, PATIENCE_MS);
	}
	if (r == 0)
		r = sonda_session_read_fd(session, file, PATIENCE_MS);
	if (r < 0)
		fprintf(stderr, "%s\n", sonda_session_error(session));
	sonda_session_free(session);
	return r;
}

int main(int argc, char **argv)
{
	struct sonda_init_options options = {0};
	struct sonda_backend_options in_process = {0};
	struct sonda_service *service;
	struct sonda_backend *backend = NULL;
	int file, r;

	file = open(argc > 1 ? argv[1] : "trace.pftrace", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (file < 0) {
		perror("cannot open the trace");
		return 1;
	}
	options.size = sizeof(options);
	options.backends = SONDA_BACKEND_NONE; /* not by the system's service */
	r = sonda_service_start(NULL, &service);
	if (r == 0)
		r = sonda_init(&options);
	if (r < 0) {
		fprintf(stderr, "cannot start: %s\n", strerror(-r));
		return 1;
	}
	in_process.size = sizeof(in_process);
	in_process.connect = sonda_service_connect;
	in_process.ctx = service;
	r = sonda_backend_add(&in_process, &backend);
	if (r == 0)
		r = sonda_backend_wait(backend, PATIENCE_MS);
	if (r == 0)
		r = record(backend, file);
	sonda_shutdown();
	sonda_backend_remove(backend);
	sonda_service_stop(service);
	close(file);
	if (r < 0)
		fprintf(stderr, "cannot record: %s\n", strerror(-r));
	return r < 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: sessions OUT
 *
 * A program that records itself through the service: starts a session, writes numbered packets, flushes,
 * reads, asks for statistics and the service's state, clones and stops. OUT gets the trace.
 */
#define _GNU_SOURCE 1
#include <sonda/session.h>

#include "numbers.h"

#include <errno.h>
#include <fcntl.h>

#define EVENTS 300000
#define PATIENCE 20000

#define MUST(what)                                                                                 \
	do {                                                                                       \
		int r_ = (what);                                                                   \
		if (r_ != 0) {                                                                     \
			fprintf(stderr, "%s: %s; %s\n", #what, strerror(-r_),                      \
				s ? sonda_session_error(s) : "");                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* TraceConfig { buffers { size_kb, fill_policy DISCARD } data_sources { config { name } } unique_session_name } */
static const void *make_config(struct sonda_packet *m, const char *name, size_t *ret_len)
{
	sonda_packet_open(m, 1);
	sonda_packet_u64(m, 1, 65536);
	sonda_packet_u64(m, 4, 2);
	sonda_packet_close(m);
	sonda_packet_open(m, 2);
	sonda_packet_open(m, 1);
	sonda_packet_str(m, 1, name);
	sonda_packet_close(m);
	sonda_packet_close(m);
	sonda_packet_str(m, 22, "sonda.test.session");
	return sonda_message_data(m, ret_len);
}

static int count_bytes(void *ctx, const void *data, size_t len)
{
	(void)data;
	*(size_t *)ctx += len;
	return 0;
}

static int refuse(void *ctx, const void *data, size_t len)
{
	(void)ctx, (void)data, (void)len;
	return -ECANCELED;
}

static void check_errors(void)
{
	struct sonda_session *s = NULL;

	if (sonda_session_new("/nowhere/at/all", PATIENCE, &s) != -ENOENT)
		exit(1);
	MUST(sonda_session_new(NULL, PATIENCE, &s));
	if (sonda_session_clone(s, "there is none", PATIENCE) != -EPROTO ||
	    !*sonda_session_error(s))
		exit(1);
	sonda_session_free(s);
	sonda_session_free(NULL);
}

int main(int argc, char **argv)
{
	struct sonda_packet *m = sonda_message_new();
	struct sonda_session *s = NULL, *clone = NULL;
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	size_t len, cloned = 0;
	const void *config;
	void *answer;

	if (fd < 0 || !m)
		return 2;
	if (sonda_session_new(NULL, PATIENCE, &s) != -ENOTCONN)
		return 1;
	numbers_register(SONDA_FULL_STALL);
	numbers_init();
	check_errors();
	config = make_config(m, "sonda.test.numbers", &len);
	MUST(sonda_session_new(NULL, PATIENCE, &s));
	MUST(sonda_session_start(s, config, len, PATIENCE));
	if (!sonda_data_source_enabled(&numbers))
		return 1; /* all data sources have started */
	MUST(sonda_session_new(NULL, PATIENCE, &clone)); /* two of one name */
	if (sonda_session_start(clone, config, len, PATIENCE) != -EINVAL ||
	    !*sonda_session_error(clone))
		return 1;
	sonda_session_free(clone);
	for (unsigned i = 0; i < EVENTS; i++)
		numbers_write(0, i, i % 30);
	MUST(sonda_session_flush(s, PATIENCE));
	MUST(sonda_session_new(NULL, PATIENCE, &clone));
	MUST(sonda_session_clone(clone, "sonda.test.session", PATIENCE));
	MUST(sonda_session_read(clone, count_bytes, &cloned, PATIENCE));
	sonda_session_free(clone);
	MUST(sonda_session_stats(s, PATIENCE, &answer, &len));
	if (len == 0)
		return 1;
	free(answer);
	MUST(sonda_session_query(s, PATIENCE, &answer, &len));
	if (!memmem(answer, len, "sonda.test.numbers", 18))
		return 1;
	free(answer);
	if (sonda_session_wait(s, 10) != -ETIMEDOUT)
		return 1;
	numbers_write(0, EVENTS, 10);
	MUST(sonda_session_stop(s, PATIENCE));
	MUST(sonda_session_wait(s, PATIENCE));
	MUST(sonda_session_read_fd(s, fd, PATIENCE));
	sonda_session_free(s);
	/* A reader that wants no more. */
	s = NULL;
	MUST(sonda_session_new(NULL, PATIENCE, &s));
	config = sonda_message_data(m, &len);
	MUST(sonda_session_start(s, config, len, PATIENCE));
	numbers_write(1, 0, 10);
	MUST(sonda_session_stop(s, PATIENCE));
	if (sonda_session_read(s, refuse, NULL, PATIENCE) != -ECANCELED)
		return 1;
	sonda_session_free(s);
	sonda_message_free(m);
	close(fd);
	if (cloned < EVENTS * 20)
		return 1;
	printf("expect %u dropped 0\n", EVENTS + 1);
	return 0;
}

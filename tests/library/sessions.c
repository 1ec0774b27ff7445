/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: sessions OUT
 *
 * A program that records itself through the service: starts a session, writes numbered packets,
 * flushes, detaches and attaches, reads, asks for statistics and the service's state, clones and
 * stops. OUT gets the trace.
 */
#define _GNU_SOURCE 1
#include <sonda/session.h>

#include "numbers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

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

/* TraceConfig { buffers { size_kb, fill_policy DISCARD } data_sources { config { name } } }, with a
 * unique_session_name, or with trigger_config { STOP_TRACING, triggers { name, stop_delay_ms },
 * trigger_timeout_ms }. */
static const void *make_config(struct sonda_packet *m, const char *name, const char *trigger,
			       size_t *ret_len)
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
	if (!trigger) {
		sonda_packet_str(m, 22, "sonda.test.session");
		return sonda_message_data(m, ret_len);
	}
	sonda_packet_open(m, 17);
	sonda_packet_u64(m, 1, 2);
	sonda_packet_open(m, 2);
	sonda_packet_str(m, 1, trigger);
	sonda_packet_u64(m, 3, 1);
	sonda_packet_close(m);
	sonda_packet_u64(m, 3, 600000);
	sonda_packet_close(m);
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
	/* What the service would not answer, or answer with success. */
	if (sonda_session_flush(s, PATIENCE) != -EINVAL ||
	    sonda_session_stop(s, PATIENCE) != -EINVAL || sonda_session_wait(s, -1) != -EINVAL ||
	    sonda_session_read(s, refuse, NULL, PATIENCE) != -EINVAL ||
	    sonda_session_detach(s, "key", PATIENCE) != -EINVAL)
		exit(1);
	sonda_session_free(s);
	sonda_session_free(NULL);
}

static void *accept_and_close(void *listener)
{
	close(accept(*(int *)listener, NULL, NULL));
	return NULL;
}

/* A service that answers nothing, and one that dies. */
static void check_bad_services(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sonda_session *s = NULL;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer, r;
	pthread_t closer;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s.mute",
		 getenv("PERFETTO_CONSUMER_SOCK_NAME"));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 8) < 0 || sonda_session_new(address.sun_path, 10, &s) != -ETIMEDOUT)
		exit(1);
	peer = accept(listener, NULL, NULL);
	close(peer); /* of the session that timed out */
	if (pthread_create(&closer, NULL, accept_and_close, &listener) != 0)
		exit(1);
	r = sonda_session_new(address.sun_path, -1, &s);
	if (r != -EPIPE && r != -ECONNRESET)
		exit(1);
	pthread_join(closer, NULL);
	close(listener);
	unlink(address.sun_path);
}

/* The library's thread polls so many connections. */
static void check_many(void)
{
	struct sonda_session *s[33] = {NULL};

	for (unsigned i = 0; i < 32; i++)
		if (sonda_session_new(NULL, PATIENCE, &s[i]) != 0)
			exit(1);
	if (sonda_session_new(NULL, PATIENCE, &s[32]) != -EMFILE)
		exit(1);
	for (unsigned i = 0; i < 32; i++)
		sonda_session_free(s[i]);
}

static unsigned count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

static _Atomic pid_t waiter;

static void *wait_for_end(void *session)
{
	waiter = gettid();
	return (void *)(intptr_t)sonda_session_wait(session, -1);
}

static bool sleeps(pid_t tid)
{
	char path[64], stat[512] = "";
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "r");
	if (!f || !fgets(stat, sizeof(stat), f))
		return false;
	fclose(f);
	state = strrchr(stat, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

/* A child has no session any more, though a thread of the parent sleeps in a call of it. */
static void check_fork(const void *config, size_t len)
{
	struct sonda_session *s = NULL;
	pthread_t thread;
	pid_t child;
	int status;
	void *ret;

	MUST(sonda_session_new(NULL, PATIENCE, &s));
	MUST(sonda_session_start(s, config, len, PATIENCE));
	if (pthread_create(&thread, NULL, wait_for_end, s) != 0)
		exit(1);
	WAIT_FOR(waiter && sleeps(waiter));
	child = fork();
	if (child == 0) {
		if (sonda_session_flush(s, PATIENCE) != -ENOTCONN)
			_exit(1);
		sonda_session_free(s);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		exit(1);
	/* The parent's goes on: its trigger ends it. */
	sonda_activate_triggers((const char *const[]){"sonda.test.end"}, 1, 0);
	if (pthread_join(thread, &ret) != 0 || (intptr_t)ret != 0)
		exit(1);
	sonda_session_free(s);
}

/* Detaches a session, which goes on, and takes it up again by its key. */
static struct sonda_session *take_up(struct sonda_session *s)
{
	struct sonda_session *other = NULL;

	MUST(sonda_session_detach(s, "sonda.test.key", PATIENCE));
	if (sonda_session_flush(s, PATIENCE) != -EINVAL)
		exit(1);
	sonda_session_free(s);
	s = NULL;
	MUST(sonda_session_new(NULL, PATIENCE, &other));
	if (sonda_session_attach(other, "there is none", PATIENCE) != -EPROTO ||
	    sonda_session_attach(other, "", PATIENCE) != -EINVAL)
		exit(1);
	MUST(sonda_session_attach(other, "sonda.test.key", PATIENCE));
	if (sonda_session_attach(other, "sonda.test.key", PATIENCE) != -EBUSY)
		exit(1);
	return other;
}

int main(int argc, char **argv)
{
	struct sonda_packet *m = sonda_message_new(), *triggered = sonda_message_new();
	struct sonda_session *s = NULL, *clone = NULL;
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	size_t len, cloned = 0;
	const void *config;
	unsigned fds;
	void *answer;

	if (fd < 0 || !m || !triggered)
		return 2;
	if (sonda_session_new(NULL, PATIENCE, &s) != -ENOTCONN)
		return 1;
	numbers_register(SONDA_FULL_STALL);
	numbers_init();
	fds = count_fds();
	check_errors();
	check_bad_services();
	check_many();
	if (count_fds() != fds)
		return 1;
	config = make_config(triggered, "sonda.test.numbers", "sonda.test.end", &len);
	check_fork(config, len);
	config = make_config(m, "sonda.test.numbers", NULL, &len);
	MUST(sonda_session_new(NULL, PATIENCE, &s));
	MUST(sonda_session_start(s, config, len, PATIENCE));
	if (!sonda_data_source_enabled(&numbers))
		return 1; /* all data sources have started */
	if (sonda_session_start(s, config, len, PATIENCE) != -EBUSY)
		return 1;
	MUST(sonda_session_new(NULL, PATIENCE, &clone)); /* two of one name */
	if (sonda_session_start(clone, config, len, PATIENCE) != -EINVAL ||
	    !*sonda_session_error(clone))
		return 1;
	sonda_session_free(clone);
	for (unsigned i = 0; i < EVENTS; i++)
		numbers_write(0, i, i % 30);
	MUST(sonda_session_flush(s, PATIENCE));
	s = take_up(s);
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
	sonda_message_free(triggered);
	close(fd);
	if (cloned < EVENTS * 20)
		return 1;
	printf("expect %u dropped 0\n", EVENTS + 1);
	return 0;
}

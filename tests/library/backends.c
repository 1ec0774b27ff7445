/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: backends MODE OUT...
 *
 * A program with further services than the system's. It writes numbered packets (numbers.h) while a
 * session of each records, and writes the traces of the sessions into OUT. Prints "called N dropped
 * N".
 *
 *	in-process OUT		the service in this process alone, in a sandbox without sockets, files and processes
 *	attacked PROGRAM OUT	the same without a sandbox, while PROGRAM attacks four of the service's connections
 *	both OUT OUT		the system's service and one in this process, at the same time
 *	tcp PORT OUT		a TCP connection that the program makes
 *	pump PORT OUT		bytes that the program carries between a socketpair and a TCP connection
 *	memory OUT		shared memory that this process makes
 *	fewer			sessions of a service without ObserveEvents, CloneSession and QueryServiceState
 *	life			mistakes, a second start, a child
 */
#define _GNU_SOURCE 1
#include "numbers.h"

#include <sonda/config.h>
#include <sonda/service.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#define PATIENCE 60000
#define THREADS 4
#define EVENTS 20000

#define MUST(what)                                                                                 \
	do {                                                                                       \
		int r_ = (what);                                                                   \
		if (r_ != 0) {                                                                     \
			fprintf(stderr, "%s: %s\n", #what, strerror(-r_));                         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* ---- sessions ---- */

static struct sonda_session *start_source(struct sonda_backend *b, const char *source)
{
	struct sonda_packet *m = sonda_message_new();
	struct sonda_session *s;
	const void *config;
	size_t len;

	sonda_packet_open(m, 1);
	sonda_packet_u64(m, 1, 65536);
	sonda_packet_u64(m, 4, 2); /* DISCARD */
	sonda_packet_close(m);
	sonda_packet_open(m, 2);
	sonda_packet_open(m, 1);
	sonda_packet_str(m, 1, source);
	sonda_packet_close(m);
	sonda_packet_close(m);
	config = sonda_message_data(m, &len);
	MUST(b ? sonda_session_new_on(b, PATIENCE, &s) : sonda_session_new(NULL, PATIENCE, &s));
	MUST(sonda_session_start(s, config, len, PATIENCE));
	sonda_message_free(m);
	return s;
}

static struct sonda_session *start(struct sonda_backend *b)
{
	return start_source(b, "sonda.test.numbers");
}

static void end(struct sonda_session *s, int fd)
{
	MUST(sonda_session_stop(s, PATIENCE));
	MUST(sonda_session_read_fd(s, fd, PATIENCE));
	sonda_session_free(s);
	close(fd);
}

static int open_out(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	MUST(fd < 0 ? -errno : 0);
	return fd;
}

static void *write_events(void *arg)
{
	for (uint64_t i = 0; i < EVENTS; i++)
		numbers_write((unsigned)(uintptr_t)arg, i, i % 1000 == 0 ? 9000 : i % 30);
	return NULL;
}

static void write_all(void)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(-pthread_create(&threads[i], NULL, write_events, (void *)i));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("called %d dropped %llu\n", THREADS * EVENTS,
	       (unsigned long long)sonda_data_source_dropped(&numbers));
}

static void init(unsigned backends)
{
	struct sonda_init_options o = {
		.size = sizeof(o), .backends = backends, .on_trouble = trouble};

	MUST(sonda_init(&o));
}

static struct sonda_backend *add(const struct sonda_backend_options *o)
{
	struct sonda_backend *b;

	MUST(sonda_backend_add(o, &b));
	MUST(sonda_backend_wait(b, PATIENCE));
	return b;
}

static struct sonda_backend *add_service(struct sonda_service *s)
{
	const struct sonda_backend_options o = {
		.size = sizeof(o), .connect = sonda_service_connect, .ctx = s, .on_trouble = NULL};

	return add(&o);
}

/* ---- in this process ---- */

#define KILL SECCOMP_RET_KILL_PROCESS
#define DENY(number, result)                                                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, result)
#define ARG(n) (offsetof(struct seccomp_data, args) + (n)*8)

/* A process that makes a socket, a file or a process is killed; threads are allowed. */
static void enter_sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DENY(__NR_socket, KILL),
		DENY(__NR_bind, KILL),
		DENY(__NR_listen, KILL),
		DENY(__NR_connect, KILL),
		DENY(__NR_accept4, KILL),
		DENY(__NR_execve, KILL),
		DENY(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS), /* then clone() is used */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG(0)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_VM, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, KILL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG(2)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, KILL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0);
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0);
}

static void record_in_process(const char *out, bool sandbox)
{
	int fd = open_out(out);
	struct sonda_service *service;
	struct sonda_session *session;
	struct sonda_backend *b;

	if (sandbox)
		enter_sandbox();
	MUST(sonda_service_start(NULL, &service));
	init(SONDA_BACKEND_NONE);
	b = add_service(service);
	session = start(b);
	write_all();
	end(session, fd);
	sonda_backend_remove(b);
	sonda_service_stop(service);
}

/* The service's connections end with the attacker's copies, which are the only ones left. */
static pid_t start_attacker(struct sonda_service *service, const char *program)
{
	char names[4][12],
		*argv[] = {(char *)program, names[0], names[1], names[2], names[3], NULL};
	int fds[4];
	pid_t pid;

	for (int i = 0; i < 4; i++) {
		fds[i] = sonda_service_connect(service, SONDA_PORT_PRODUCER);
		MUST(fds[i] < 0 ? fds[i] : 0);
		snprintf(names[i], sizeof(names[i]), "%d", fds[i]);
	}
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 4; i++)
			fcntl(fds[i], F_SETFD, 0);
		execv(program, argv);
		_exit(127);
	}
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	return pid;
}

static void record_attacked(const char *program, const char *out)
{
	struct sonda_session *session, *hostile;
	struct sonda_service *service;
	struct sonda_backend *b;
	int status;
	pid_t pid;

	MUST(sonda_service_start(NULL, &service));
	init(SONDA_BACKEND_NONE);
	b = add_service(service);
	session = start(b);
	hostile = start_source(b, "hostile.src");
	pid = start_attacker(service, program);
	write_all();
	MUST(waitpid(pid, &status, 0) == pid ? -status : -ECHILD);
	end(session, open_out(out));
	end(hostile, open_out("/dev/null"));
	sonda_backend_remove(b);
	sonda_service_stop(service);
}

static void record_both(const char *out_system, const char *out_own)
{
	struct sonda_session *sessions[2];
	struct sonda_service *service;
	struct sonda_backend *b;

	MUST(sonda_service_start(NULL, &service));
	init(SONDA_BACKEND_SYSTEM);
	b = add_service(service);
	MUST(sonda_wait_connected(PATIENCE));
	sessions[0] = start(NULL);
	sessions[1] = start(b);
	write_all();
	end(sessions[0], open_out(out_system));
	end(sessions[1], open_out(out_own));
	sonda_backend_remove(b);
	sonda_service_stop(service);
}

/* ---- the program's own connections ---- */

static uint16_t tcp_port;

static int connect_tcp(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(tcp_port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	return fd;
}

static int connect_consumer(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", getenv("PERFETTO_CONSUMER_SOCK_NAME"));
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	return fd;
}

static int connect_directly(void *ctx, enum sonda_port port)
{
	(void)ctx;
	return port == SONDA_PORT_PRODUCER ? connect_tcp() : connect_consumer();
}

static void carry(int from, int to)
{
	char bytes[3000];
	ssize_t n = read(from, bytes, sizeof(bytes));

	if (n <= 0 || write(to, bytes, (size_t)n) != n)
		exit(3); /* before the end of the session */
}

static void *pump(void *arg)
{
	int *ends = arg;

	for (;;) {
		struct pollfd p[2] = {{.fd = ends[0], .events = POLLIN},
				      {.fd = ends[1], .events = POLLIN}};

		poll(p, 2, -1);
		if ((p[0].revents | p[1].revents) & POLLHUP)
			return NULL;
		if (p[0].revents)
			carry(ends[0], ends[1]);
		if (p[1].revents)
			carry(ends[1], ends[0]);
	}
}

static int connect_by_pump(void *ctx, enum sonda_port port)
{
	static int ends[2];
	pthread_t thread;
	int pair[2];

	(void)ctx;
	if (port == SONDA_PORT_CONSUMER)
		return connect_consumer();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -errno;
	ends[0] = pair[1];
	ends[1] = connect_tcp();
	if (ends[1] < 0 || pthread_create(&thread, NULL, pump, ends) != 0)
		return -ECONNREFUSED;
	pthread_detach(thread);
	return pair[0];
}

static void record_by(int (*connect)(void *ctx, enum sonda_port port), const char *out)
{
	const struct sonda_backend_options o = {
		.size = sizeof(o), .connect = connect, .on_trouble = trouble};
	struct sonda_session *session;
	struct sonda_backend *b;

	init(SONDA_BACKEND_NONE);
	b = add(&o);
	session = start(b);
	write_all();
	end(session, open_out(out));
	sonda_backend_remove(b);
}

/* ---- own memory ---- */

#define OWN_SIZE (768u << 10) /* of no service by itself */

static bool has_mapping(unsigned size)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	bool found = false;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			found |= to - from == size;
	if (maps)
		fclose(maps);
	return found;
}

static void record_in_own_memory(const char *out)
{
	const struct sonda_backend_options o = {
		.size = sizeof(o), .own_memory = 1, .shm_size = OWN_SIZE, .on_trouble = trouble};
	struct sonda_session *session;
	struct sonda_backend *b;

	init(SONDA_BACKEND_NONE);
	b = add(&o);
	printf("memory of this process: %s\n", has_mapping(OWN_SIZE) ? "yes" : "no");
	session = start(b);
	write_all();
	end(session, open_out(out));
	sonda_backend_remove(b);
}

/* ---- a service with fewer methods ---- */

static void check_fewer(void)
{
	struct sonda_session *s;
	void *state;
	size_t len;

	init(SONDA_BACKEND_NONE);
	MUST(sonda_session_new(NULL, PATIENCE, &s));
	if (sonda_session_query(s, PATIENCE, &state, &len) != -ENOSYS ||
	    sonda_session_clone(s, "name", PATIENCE) != -ENOSYS ||
	    sonda_session_start(s, "\030\005", 2, PATIENCE) != -ENOSYS)
		exit(16);
	sonda_session_free(s);
}

/* ---- life ---- */

static int connect_nowhere(void *ctx, enum sonda_port port)
{
	(void)port;
	__atomic_fetch_add((int *)ctx, 1, __ATOMIC_RELAXED);
	return -EHOSTUNREACH;
}

static void check_mistakes(void)
{
	struct sonda_backend_options o = {.size = sizeof(o)};
	struct sonda_backend *b = NULL;
	struct sonda_session *s;
	int calls = 0;

	if (sonda_backend_add(&o, &b) != -ENOTCONN) /* no sonda_init() */
		exit(4);
	init(SONDA_BACKEND_NONE);
	o.size = 4;
	if (sonda_backend_add(&o, &b) != -EINVAL || sonda_backend_add(NULL, &b) != -EINVAL)
		exit(5);
	o = (struct sonda_backend_options){
		.size = sizeof(o), .connect = connect_nowhere, .ctx = &calls};
	MUST(sonda_backend_add(&o, &b));
	WAIT_FOR(__atomic_load_n(&calls, __ATOMIC_RELAXED) > 2); /* it tries again */
	if (sonda_backend_wait(b, 1) != -ETIMEDOUT ||
	    sonda_session_new_on(b, PATIENCE, &s) != -EHOSTUNREACH)
		exit(6);
	sonda_shutdown();
	if (sonda_backend_wait(b, 1) != -ENOTCONN)
		exit(7);
	sonda_backend_remove(b);
	sonda_backend_remove(NULL);
	sonda_service_stop(NULL);
}

static void check_text(void)
{
	void *config = NULL;
	char *errors = NULL;
	size_t len;

	MUST(sonda_config_from_text("duration_ms: 5 # comment", &config, &len, NULL));
	if (len != 2 || memcmp(config, "\030\005", 2) != 0)
		exit(13);
	free(config);
	if (sonda_config_from_text("buffers {\n  size_kbs: 4 }", &config, &len, &errors) !=
		    -EINVAL ||
	    !strstr(errors, "config:2:3: error: no field named \"size_kbs\"") ||
	    !strstr(errors, "did you mean \"size_kb\"?"))
		exit(14);
	free(errors);
	if (sonda_config_from_text("", &config, &len, NULL) != -EINVAL) /* empty */
		exit(15);
}

SONDA_CATEGORY_DEFINE(early, "early");

static int find_early(void *ctx, const void *data, size_t len)
{
	static const char name[] = "before there is a service";

	*(bool *)ctx |= memmem(data, len, name, sizeof(name) - 1) != NULL;
	return 0;
}

static void check_starts(void)
{
	const struct sonda_service_options short_one = {.size = 1};
	struct sonda_service *service, *second;
	struct sonda_backend *b;
	int fd;

	if (sonda_service_start(&short_one, &service) != -EINVAL)
		exit(8);
	for (int i = 0; i < 20; i++) {
		MUST(sonda_service_start(NULL, &service));
		if (sonda_service_start(NULL, &second) != -EBUSY)
			exit(9);
		if (sonda_service_connect(service, (enum sonda_port)7) != -EINVAL)
			exit(10);
		fd = sonda_service_connect(service, SONDA_PORT_CONSUMER);
		if (fd < 0)
			exit(11);
		init(SONDA_BACKEND_NONE);
		b = add_service(service);
		if (i % 2) /* either order */
			sonda_shutdown();
		sonda_backend_remove(b);
		sonda_shutdown();
		sonda_service_stop(service);
		close(fd);
	}
}

/* Events from before there is a service are in the first session of the one that comes. */
static void check_startup(void)
{
	const struct sonda_init_options o = {.size = sizeof(o),
					     .backends = SONDA_BACKEND_NONE,
					     .startup_categories = "early",
					     .startup_ms = PATIENCE};
	struct sonda_service *service;
	struct sonda_session *s;
	struct sonda_backend *b;
	bool found = false;
	void *config;
	size_t len;

	MUST(sonda_init(&o));
	SONDA_INSTANT(early, "before there is a service");
	MUST(sonda_service_start(NULL, &service));
	b = add_service(service);
	MUST(sonda_config_from_text(
		"buffers { size_kb: 64 } data_sources { config { name: \"track_event\" } }",
		&config, &len, NULL));
	MUST(sonda_session_new_on(b, PATIENCE, &s));
	MUST(sonda_session_start(s, config, len, PATIENCE));
	MUST(sonda_session_stop(s, PATIENCE));
	MUST(sonda_session_read(s, find_early, &found, PATIENCE));
	if (!found)
		exit(17);
	free(config);
	sonda_session_free(s);
	sonda_backend_remove(b);
	sonda_shutdown();
	sonda_service_stop(service);
}

/* A child has neither service nor backend, and can begin anew once it has removed them. */
static void check_child(void)
{
	struct sonda_service *service;
	struct sonda_session *session;
	struct sonda_backend *b;
	int status;
	pid_t pid;

	MUST(sonda_service_start(NULL, &service));
	init(SONDA_BACKEND_NONE);
	b = add_service(service);
	session = start(b);
	numbers_write(1, 1, 0);
	pid = fork();
	if (pid == 0) {
		numbers_write(2, 1, 0);
		if (sonda_backend_wait(b, 1) != -ENOTCONN)
			_exit(1);
		sonda_backend_remove(b);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		exit(12);
	MUST(sonda_session_flush(session, PATIENCE));
	MUST(sonda_session_stop(session, PATIENCE));
	sonda_session_free(session);
	sonda_backend_remove(b);
	sonda_service_stop(service);
	sonda_shutdown();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	numbers_register(SONDA_FULL_STALL);
	if (!strcmp(mode, "in-process") && argc == 3)
		record_in_process(argv[2], !getenv("NO_SANDBOX"));
	else if (!strcmp(mode, "attacked") && argc == 4)
		record_attacked(argv[2], argv[3]);
	else if (!strcmp(mode, "both") && argc == 4)
		record_both(argv[2], argv[3]);
	else if (!strcmp(mode, "memory") && argc == 3)
		record_in_own_memory(argv[2]);
	else if (!strcmp(mode, "fewer"))
		check_fewer();
	else if (!strcmp(mode, "life"))
		check_mistakes(), check_text(), check_startup(), check_starts(), check_child();
	else if (argc == 4)
		tcp_port = (uint16_t)atoi(argv[2]),
		record_by(!strcmp(mode, "tcp") ? connect_directly : connect_by_pump, argv[3]);
	else
		return 2;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: ring_floor BUFFER_KB SUBBUF_KB GROUP/EVENT|GROUP/...
 *
 * The least that a recorder of kernel events can cost: an instance with these events, whose rings
 * are read every 100 ms and whose records are walked, and nothing else. Writes a line "ready" to
 * stdout when it records; at SIGTERM reads what is left, removes the instance, and prints "CPU-ns
 * EVENTS LOST SESSION-CPU-ns". The CPU time is from the first line to the last read; that of the
 * session is all of the process, with the instance made and removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/system/fs.h"
#include "ftrace/format/ring_page.h"

#define TRACEFS "/sys/kernel/tracing"
#define MAX_CPUS 1024
#define PERIOD_MS 100

static char dir[128];
static struct ring_page_layout layout;
static uint8_t *page;
static int rings[MAX_CPUS];
static unsigned n_rings;
static uint64_t events, lost;

static void leave(void)
{
	char path[256];

	if (!*dir)
		return;
	for (unsigned i = 0; i < n_rings; i++)
		close(rings[i]);
	snprintf(path, sizeof(path), "%s/events/enable", dir);
	fs_write_file(path, "0", false);
	rmdir(dir);
	*dir = '\0';
}

static void give_up(const char *what)
{
	fprintf(stderr, "ring_floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int set(const char *file, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return fs_write_file(path, text, false);
}

static void read_layout(void)
{
	char path[256];
	struct strbuf text = {0};

	snprintf(path, sizeof(path), "%s/events/header_page", TRACEFS);
	if (fs_read_file(path, 1 << 16, &text) || ring_page_layout_parse(text.s, &layout))
		give_up(path);
	strbuf_deinit(&text);
}

static void make_instance(const char *buffer_kb, const char *subbuf_kb)
{
	snprintf(dir, sizeof(dir), "%s/instances/floor-%d", TRACEFS, (int)getpid());
	if (mkdir(dir, 0700))
		give_up(dir);
	atexit(leave);
	set("tracing_on", "0");
	set("trace_clock", "boot");
	set("buffer_subbuf_size_kb", subbuf_kb); /* kernels before 6.8 have one size */
	if (set("buffer_size_kb", buffer_kb))
		give_up("buffer_size_kb");
}

static void open_rings(void)
{
	char path[512];
	struct strbuf size = {0};

	for (; n_rings < MAX_CPUS; n_rings++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", dir, n_rings);
		rings[n_rings] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (rings[n_rings] < 0)
			break;
	}
	read_layout();
	snprintf(path, sizeof(path), "%s/buffer_subbuf_size_kb", dir);
	if (fs_read_file(path, 64, &size) == 0)
		layout.size = (uint32_t)strtoul(size.s, NULL, 10) * 1024;
	strbuf_deinit(&size);
	page = malloc(layout.size);
	if (!page || n_rings == 0)
		give_up(path);
}

/* False: the writer is still at this sub-buffer, and more is worth waiting for. */
static bool walk(size_t len)
{
	struct ring_page p;
	struct ring_record r;
	uint64_t n = 0;

	if (ring_page_open(&p, &layout, page, len) != RING_PAGE_OK)
		return true;
	while (ring_page_next(&p, &r) == RING_PAGE_OK)
		n++;
	events += n;
	lost += p.lost_count;
	return (size_t)(p.end - page) > layout.size / 2;
}

static void read_rings(bool to_the_end)
{
	for (unsigned i = 0; i < n_rings; i++) {
		ssize_t n;

		do
			n = read(rings[i], page, layout.size);
		while (n > 0 && (walk((size_t)n) || to_the_end));
	}
}

int main(int argc, char **argv)
{
	struct pollfd end;
	sigset_t set_of;
	uint64_t start, used;

	if (argc < 4) {
		fprintf(stderr, "usage: %s BUFFER_KB SUBBUF_KB GROUP/EVENT|GROUP/...\n", argv[0]);
		return 2;
	}
	sigemptyset(&set_of);
	sigaddset(&set_of, SIGTERM);
	sigaddset(&set_of, SIGINT);
	sigprocmask(SIG_BLOCK, &set_of, NULL);
	end = (struct pollfd){.fd = signalfd(-1, &set_of, SFD_CLOEXEC), .events = POLLIN};
	make_instance(argv[1], argv[2]);
	open_rings();
	for (int i = 3; i < argc; i++) {
		char file[256];

		snprintf(file, sizeof(file), "events/%s%senable", argv[i],
			 argv[i][strlen(argv[i]) - 1] == '/' ? "" : "/");
		if (set(file, "1"))
			give_up(file);
	}
	start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	set("tracing_on", "1");
	puts("ready");
	fflush(stdout);
	while (poll(&end, 1, PERIOD_MS) == 0)
		read_rings(false);
	set("tracing_on", "0");
	read_rings(true);
	used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
	leave();
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", used, events, lost,
	       clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: ebpf_unwind_updates DIR MS
 *
 * Rows are replaced while programs read them. A child loops in a chain of functions whose callers
 * are always the same. It is sampled each 50 us. Meanwhile its rows are evicted and added again, as
 * often as possible: two files of DIR fill the tables up to a rest that has no room for both the
 * child's rows and those of a third file, whose rules are wrong for the child. Each stack that is
 * said to be complete must have the callers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef __x86_64__
int main(void)
{
	return 77;
}
#else
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <dwarf.h>
#include <event2/event.h>
#include <linux/perf_event.h>

#include "base/core/mem.h"
#include "base/text/span.h"
#include "bpf/unwind.h"
#include "stacks/files/file_reader.h"
#include "stacks/files/proc_maps.h"
#include "stacks/samples/sample_program.h"
#include "stacks/unwind/unwind_tables.h"

#define FILLERS 2
#define FILLER_ROWS 980000u

/* ---- the child ---- */

static volatile unsigned turns;

#define NOINLINE __attribute__((noinline, noclone, optimize("O2", "omit-frame-pointer")))

static NOINLINE unsigned spin(unsigned x)
{
	for (;;)
		turns += x;
	return x;
}

static NOINLINE unsigned fourth(unsigned x)
{
	volatile char buf[100];

	buf[x % 100] = 1;
	return spin(x + 1) + buf[7];
}

static NOINLINE unsigned third(unsigned x)
{
	return fourth(x * 3) + turns;
}

static NOINLINE int second(const void *a, const void *b)
{
	return (int)third(1) + *(const int *)a - *(const int *)b;
}

static NOINLINE void first(void)
{
	int values[] = {3, 2, 1};

	qsort(values, 3, sizeof(values[0]), second); /* frames of the C library */
}

/* ---- the files ---- */

/* Writes an ELF file whose only function has n rows: at every second one the stack is said to
 * end. */
static int write_file(const char *path, uint32_t n)
{
	static const uint8_t cie[24] = {20,
					0,
					0,
					0,
					0,
					0,
					0,
					0,
					1,
					'z',
					'R',
					0,
					1,
					0x78,
					16,
					1,
					DW_EH_PE_sdata4,
					DW_CFA_def_cfa,
					7,
					8,
					DW_CFA_offset | 16,
					1};
	const uint32_t text = 0x10000000, frames = 0x1000, size = 3 * n;
	const uint32_t fde[] = {4 + 8 + 1 + size, sizeof(cie) + 4, text, n + 1};
	const Elf64_Ehdr h = {.e_ident = "\177ELF\2\1\1",
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(h),
			      .e_shoff = sizeof(h) + sizeof(Elf64_Phdr),
			      .e_ehsize = sizeof(h),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = 3,
			      .e_shstrndx = 2};
	const Elf64_Phdr p = {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_vaddr = text,
			      .p_filesz = 2 * (uint64_t)n + 16,
			      .p_memsz = 2 * (uint64_t)n + 16,
			      .p_offset = frames};
	const Elf64_Shdr s[3] = {{0},
				 {.sh_name = 1,
				  .sh_type = SHT_PROGBITS,
				  .sh_offset = frames,
				  .sh_size = sizeof(cie) + sizeof(fde) + 1 + size},
				 {.sh_type = SHT_STRTAB,
				  .sh_offset = sizeof(h) + sizeof(p) + sizeof(s),
				  .sh_size = sizeof("\0.eh_frame")}};
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	fwrite(&h, sizeof(h), 1, f);
	fwrite(&p, sizeof(p), 1, f);
	fwrite(s, sizeof(s), 1, f);
	fwrite("\0.eh_frame", sizeof("\0.eh_frame"), 1, f);
	fseek(f, frames, SEEK_SET);
	fwrite(cie, sizeof(cie), 1, f);
	fwrite(fde, sizeof(fde), 1, f);
	fputc(0, f);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t end[] = {DW_CFA_advance_loc | 1, DW_CFA_undefined, 16},
			      no_end[] = {DW_CFA_advance_loc | 1, DW_CFA_offset | 16, 1};

		fwrite(i % 2 ? end : no_end, sizeof(end), 1, f);
	}
	return fclose(f);
}

/* ---- the tables ---- */

static struct event_base *loop;
struct wanted {
	struct file_mapping m;
	char path[256];
};
static struct wanted of_child[16], other;
static unsigned n_of_child;

static void read_maps(int32_t pid)
{
	char path[64], line[4400];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		const struct span text = {line, strcspn(line, "\n")};
		struct wanted *w = &of_child[n_of_child];
		struct span name;

		if (n_of_child < ARRAY_SIZE(of_child) && proc_maps_parse_line(text, &w->m, &name) &&
		    w->m.inode && name.len < 256) {
			memcpy(w->path, name.p, name.len);
			n_of_child++;
		}
	}
	if (f)
		fclose(f);
}

/* A process that does not exist maps the file. */
static struct wanted mapped(const char *path)
{
	struct wanted w = {.m = {.start = 0x10000, .end = 0x80000000, .offset = 0x1000}};
	struct stat st = {0};

	if (stat(path, &st) < 0)
		exit(2);
	w.m.inode = st.st_ino;
	w.m.major = major(st.st_dev);
	w.m.minor = minor(st.st_dev);
	w.m.path_len = (uint32_t)strlen(path);
	strcpy(w.path, path);
	return w;
}

static struct unwind_tables_stats stats(void)
{
	struct unwind_tables_stats s;

	unwind_tables_get_stats(&s);
	return s;
}

/* Lets the tables read the files, as if programs had missed them. Returns false if one had no
 * room. */
static bool want(int32_t pid, const struct wanted *w, unsigned n)
{
	uint64_t refused = stats().n_refused;

	for (unsigned i = 0; i < n; i++)
		unwind_tables_request_file(pid, &w[i].m, w[i].path, true);
	while (unwind_tables_is_busy())
		event_base_loop(loop, EVLOOP_ONCE);
	return stats().n_refused == refused;
}

/* Stacks use all files that the tables have, in the far future. */
static void keep_files(void)
{
	int fd = unwind_tables_maps()->files_fd;
	struct unwind_file_key key, *before = NULL;
	struct unwind_file f;

	for (; bpf_map_get_next_key(fd, before, &key) == 0; before = &key)
		if (bpf_map_lookup_elem(fd, &key, &f) == 0) {
			f.used_ns = UINT64_MAX / 2;
			bpf_map_update_elem(fd, &key, &f, BPF_EXIST);
		}
}

/* ---- samples ---- */

static unsigned n_complete, n_other, n_wrong;

static bool is_in(uint64_t address, const void *function)
{
	return address - (uint64_t)function < 400;
}

/* The functions of the chain, and the same callers as in the first sample. */
static bool has_callers(const uint64_t *addresses, uint32_t n)
{
	static uint64_t known[UNWIND_FRAMES_MAX];
	static uint32_t n_known;
	const void *const chain[] = {(void *)fourth, (void *)third, (void *)second};

	for (uint32_t i = 0; i < ARRAY_SIZE(chain); i++)
		if (n <= i + 1 || !is_in(addresses[i + 1], chain[i]))
			return false;
	if (!n_known) {
		n_known = n;
		memcpy(known, addresses, n * sizeof(*known));
	}
	return n == n_known && n > 6 &&
	       memcmp(addresses + 1, known + 1, (n - 1) * sizeof(*known)) == 0;
}

static void read_samples(struct sample_program *p)
{
	const struct stack_sample *s;

	for (; (s = sample_program_peek(p)); sample_program_consume(p)) {
		const uint64_t *addresses = (const uint64_t *)s->addresses + s->n_kernel;

		if (s->is_by_kernel || s->error != UNWIND_COMPLETE || !s->is_user)
			n_other++;
		else if (has_callers(addresses, s->n_user))
			n_complete++;
		else if (n_wrong++ < 3)
			for (uint32_t i = 0; i < s->n_user; i++)
				printf("# wrong: %llx\n", (unsigned long long)addresses[i]);
	}
}

static int open_event(int32_t pid, struct sample_program *p)
{
	struct perf_event_attr a = {.size = sizeof(a),
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_TASK_CLOCK,
				    .sample_period = 50000};
	int fd = (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 || sample_program_attach(p, 0, fd, NULL) < 0 ? -1 : fd;
}

/* ---- the test ---- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Adds a file with n rows of its own. */
static bool add_file(const char *dir, unsigned number, uint32_t n)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%u", dir, number);
	if (write_file(path, n) != 0)
		return false;
	other = mapped(path);
	return want(0, &other, 1);
}

/* Gives the place of the child's rows to the last file, and back. Returns how often. */
static unsigned replace_rows(struct sample_program *p, int32_t child, uint64_t ms)
{
	uint64_t end = now_ms() + ms;
	unsigned n;

	for (n = 0; now_ms() < end; n++) {
		if (!want(child, of_child, n_of_child))
			break;
		read_samples(p);
		if (!want(0, &other, 1))
			break;
		read_samples(p);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct unwind_tables_user user = {.hurries = true};
	struct sample_program_config c = {.has_user_frames = true, .ring_size = 4 << 20};
	struct sample_program *p = NULL;
	struct err_text why = {0};
	int32_t child;
	uint32_t rows;
	unsigned n;

	if (argc != 3 || file_reader_start() < 0)
		return 2;
	child = fork();
	if (child == 0) {
		first();
		_exit(0);
	}
	loop = event_base_new();
	if (unwind_tables_join(&user, loop) < 0)
		return 77;
	c.tables = unwind_tables_maps();
	read_maps(child);
	if (sample_program_new(&c, &p, &why) < 0 || open_event(child, p) < 0) {
		fprintf(stderr, "%s\n", why.text);
		kill(child, SIGKILL);
		return 77;
	}
	for (unsigned i = 0; i < FILLERS; i++) /* equal files would share their rows */
		if (!add_file(argv[1], i, FILLER_ROWS - i))
			return 2;
	keep_files();
	if (!want(child, of_child, n_of_child))
		return 2;
	rows = stats().n_rows - FILLERS * FILLER_ROWS;
	if (!add_file(argv[1], FILLERS, UNWIND_ROWS_MAX - FILLERS * FILLER_ROWS - rows / 4))
		return 2;
	n = replace_rows(p, child, (uint64_t)atoi(argv[2]));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("replaced %u evicted %llu complete %u other %u wrong %u\n", n,
	       (unsigned long long)stats().n_evicted, n_complete, n_other, n_wrong);
	sample_program_free(p);
	unwind_tables_leave(&user);
	return n_wrong > 0;
}
#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/helper_process.h"
#include "base/system/sanitizer.h"
#include "base/text/str.h"
#include "import/file/byte_reader.h"
#include "import/file/trace_output.h"
#include "import/perf_data/perf_import.h"
#include "import/trace_dat/dat_import.h"

#define KALLSYMS_MAX (256u << 20) /* bytes */

/* ---- the process ---- */

static const uint8_t trace_dat_magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

static const char perf_magic[] = "PERFILE2", perf_magic_swapped[] = "2ELIFREP";

static bool has_magic(const uint8_t *data, size_t len, const void *magic, size_t n)
{
	return len >= n && !memcmp(data, magic, n);
}

static bool is_perf_data(const uint8_t *data, size_t len)
{
	return has_magic(data, len, perf_magic, strlen(perf_magic));
}

int import_bytes(const uint8_t *data, size_t len, int out, const char *buffer,
		 const struct kernel_names_source *source, struct import_result *ret)
{
	struct trace_output output;
	int r = trace_output_init(&output, out);

	if (r)
		return import_set_error(ret, r, "out of memory");
	if (has_magic(data, len, trace_dat_magic, sizeof(trace_dat_magic)))
		r = dat_import(data, len, buffer, &output, ret);
	else if (is_perf_data(data, len))
		r = perf_import(data, len, source, &output, ret);
	else if (has_magic(data, len, perf_magic_swapped, strlen(perf_magic_swapped)))
		r = import_set_error(ret, -EPROTONOSUPPORT,
				     "the file was recorded on a big-endian machine");
	else
		r = import_set_error(
			ret, -EPROTONOSUPPORT,
			"the file is neither trace-cmd's trace.dat nor perf's perf.data");
	if (!r) {
		r = trace_output_flush(&output);
		if (r)
			import_set_error(ret, r, "cannot write the trace: %s", strerror(-r));
	}
	trace_output_deinit(&output);
	return r;
}

struct import_job {
	const uint8_t *data;
	size_t len;
	int out;
	const char *buffer;
	struct kernel_names_source source;
};

/* Limits the memory and the system calls of the process. If the kernel refuses this, the process
 * continues with the rights of the user. */
static void import_confine(size_t len)
{
	static const char *const calls[] = {
		"brk",	  "close",   "exit_group", "futex",	   "getrandom", "madvise", "munmap",
		"mremap", "sendmsg", "write",	   "rt_sigreturn", "sysinfo",	"uname",   NULL,
	};
	static const struct syscall_without rest[] = {
		{"mmap", 2, PROT_EXEC},
		{"mmap2", 2, PROT_EXEC},
		{"mprotect", 2, PROT_EXEC},
		{NULL, 0, 0},
	};
	const struct syscall_list list = {.allowed = calls, .without = rest, .is_whole = true};
	const struct rlimit limit = {IMPORT_MEMORY + len, IMPORT_MEMORY + len};

	if (!BUILT_WITH_SANITIZER)
		(void)setrlimit(RLIMIT_AS, &limit);
	(void)helper_confine(NULL, 0, &list);
}

static void import_process(int fd, void *ctx)
{
	static struct import_result result;
	const struct import_job *job = ctx;

	import_confine(job->len);
	(void)import_bytes(job->data, job->len, job->out, job->buffer, &job->source, &result);
	(void)helper_send(fd, &result, sizeof(result), -1, 0);
	_exit(0);
}

/* ---- this process ---- */

/* Ends a text from the process with a NUL, and replaces what is not printable. */
static void make_text_plain(char *text, size_t size)
{
	char copy[256];

	text[size - 1] = '\0';
	import_copy_text(copy, MIN(size, sizeof(copy)), text);
	memcpy(text, copy, strlen(copy) + 1);
}

/* Makes the texts of a result from the process plain, and a positive error -EBADMSG. */
static void clean_result(struct import_result *r)
{
	make_text_plain(r->problem, sizeof(r->problem));
	make_text_plain(r->format, sizeof(r->format));
	make_text_plain(r->recorder, sizeof(r->recorder));
	make_text_plain(r->clock, sizeof(r->clock));
	for (unsigned i = 0; i < IMPORT_NOTES; i++)
		make_text_plain(r->notes[i], sizeof(r->notes[i]));
	if (r->error > 0)
		r->error = -EBADMSG;
}

static int run_process(struct import_job *job, struct import_result *ret)
{
	const struct iovec part = {ret, sizeof(*ret)};
	struct helper_process p;
	int r = helper_process_start("sonda-import", import_process, job, job->out, &p);
	ssize_t n;

	if (r < 0)
		return import_set_error(ret, r, "cannot start a process: %s", strerror(-r));
	n = helper_receive(p.fd, &part, 1, -1, NULL);
	closep(&p.fd);
	kill(p.pid, SIGKILL);
	waitpid(p.pid, NULL, 0);
	if (n != (ssize_t)sizeof(*ret)) {
		*ret = (struct import_result){0};
		return import_set_error(
			ret, -EBADMSG,
			"the file is damaged: the process that read it was killed or crashed");
	}
	clean_result(ret);
	return ret->error;
}

/* Copies a pipe into a temporary file without a name. Returns its descriptor, or -errno. */
static int copy_pipe_to_file(int in)
{
	static uint8_t buf[1u << 16];
	FILE *file = fs_temp_file();
	size_t written = 0;
	ssize_t n = 0;
	int fd;

	if (!file)
		return -errno;
	while ((n = read(in, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR)) {
		written = n > 0 ? fwrite(buf, 1, (size_t)n, file) : 0;
		if (n > 0 && written != (size_t)n)
			break;
	}
	if (n != 0 || fflush(file)) {
		fclose(file);
		return errno ? -errno : -EIO;
	}
	fd = dup(fileno(file));
	fclose(file);
	return fd < 0 ? -errno : fd;
}

/* Reads the build id of the running kernel from its ELF notes: u32 length of the name, u32 length
 * of the data, u32 type; name, data. */
static void read_build_id(struct kernel_names_source *source)
{
	struct strbuf notes = {0};
	struct byte_reader r;

	if (fs_read_file("/sys/kernel/notes", 1 << 20, &notes) < 0)
		return;
	r = byte_reader_make((const uint8_t *)notes.s, notes.len);
	while (!r.failed && byte_reader_left(&r)) {
		uint32_t name_len = byte_reader_u32(&r), len = byte_reader_u32(&r);
		uint32_t type = byte_reader_u32(&r);
		const uint8_t *name = byte_reader_read(&r, (name_len + 3ull) & ~3ull);
		const uint8_t *data = byte_reader_read(&r, (len + 3ull) & ~3ull);

		if (!name || !data || type != NT_GNU_BUILD_ID || name_len != sizeof("GNU") ||
		    memcmp(name, "GNU", sizeof("GNU")) != 0 || len > KERNEL_BUILD_ID_MAX)
			continue;
		memcpy(source->build_id, data, len);
		source->n_build_id = len;
	}
	strbuf_deinit(&notes);
}

/* Reads the names of the kernel's functions into ret_text, which owns them, for job->source.
 * Returns 0, also without names, or an error if the user's file cannot be read. */
static int read_kernel_names(const char *path, struct import_job *job, struct strbuf *ret_text,
			     struct import_result *ret)
{
	struct utsname name;
	int r = fs_read_file(path ? path : "/proc/kallsyms", KALLSYMS_MAX, ret_text);

	if (r < 0 && path)
		return import_set_error(ret, r, "cannot read %s: %s", path, strerror(-r));
	if (r < 0 || !ret_text->s || ret_text->failed)
		return 0;
	job->source.kallsyms = ret_text->s;
	job->source.is_of_user = path;
	read_build_id(&job->source);
	if (uname(&name) == 0)
		import_copy_text(job->source.release, sizeof(job->source.release), name.release);
	return 0;
}

static int map_file_and_run(int in, const char *kallsyms, struct import_job *job,
			    struct import_result *ret)
{
	struct strbuf text = {0};
	struct stat st;
	void *data;
	int r;

	if (fstat(in, &st) < 0)
		return import_set_error(ret, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return import_set_error(ret, -EINVAL,
					S_ISREG(st.st_mode) ? "the file is empty"
							    : "not a regular file");
	job->len = (size_t)st.st_size;
	data = mmap(NULL, job->len, PROT_READ, MAP_PRIVATE, in, 0);
	if (data == MAP_FAILED)
		return import_set_error(ret, -errno, "%s", strerror(errno));
	job->data = data;
	r = is_perf_data(data, job->len) ? read_kernel_names(kallsyms, job, &text, ret) : 0;
	if (!r)
		r = run_process(job, ret);
	strbuf_deinit(&text);
	munmap(data, job->len);
	return r;
}

int import_run(int in, int out, const struct import_options *options, struct import_result *ret)
{
	struct import_job job = {.out = out, .buffer = options->buffer};
	_cleanup_(closep) int copy = -1;
	struct stat st;

	*ret = (struct import_result){0};
	if (fstat(in, &st) < 0)
		return import_set_error(ret, -errno, "%s", strerror(errno));
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		copy = copy_pipe_to_file(in);
		if (copy < 0)
			return import_set_error(ret, copy, "cannot copy the file: %s",
						strerror(-copy));
		in = copy;
	}
	return map_file_and_run(in, options->kallsyms, &job, ret);
}

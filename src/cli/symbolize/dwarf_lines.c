/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/symbolize/dwarf_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/helper_process.h"
#include "base/system/sanitizer.h"
#include "base/text/demangle.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/* A message of the process: AddressSymbols, or at the end the result. */
struct lines_message {
	uint32_t is_end;
	uint32_t len; /* of the bytes */
	struct dwarf_lines_result result; /* at the end */
	uint8_t bytes[DWARF_LINES_MAX * (2 * DWARF_TEXT_MAX + 64)];
};
#define LINES_HEAD offsetof(struct lines_message, bytes)

/* ---- the process: the file ---- */

struct dwarf_file {
	const struct dwarf_library *l; /* borrowed */
	Dwfl *dwfl; /* owned */
	Dwfl_Module *module;
	GElf_Addr bias; /* added to addresses of the file */
	bool has_debug_info;
	Dwarf_Die *unit; /* unit that contains the last address */
	Dwarf_Addr unit_bias;
	char debug_link[NAME_MAX + 1]; /* name of its debug file; "": unknown */
};

/* The process reads one file. libdw's own search for debug files would load the library that asks
 * servers. */
static struct dwarf_file the_file;

static int copy_debug_link(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			   const char *file_name, const char *debug_link, GElf_Word crc,
			   char **ret_name)
{
	if (debug_link && !strchr(debug_link, '/') && strlen(debug_link) <= NAME_MAX)
		strcpy(the_file.debug_link, debug_link);
	return -1;
}

static void dwarf_file_close(struct dwarf_file *f)
{
	if (f->dwfl)
		f->l->dwfl_end(f->dwfl);
	f->dwfl = NULL;
}

static bool has_build_id(struct dwarf_file *f, const struct symbol_module *m)
{
	Elf *elf = f->l->dwfl_module_getelf(f->module, &f->bias);
	const void *id;
	ssize_t n = elf ? f->l->dwelf_elf_gnu_build_id(elf, &id) : -1;

	return n > 0 && (size_t)n == m->n_build_id && memcmp(id, m->build_id, (size_t)n) == 0;
}

/* Closes the file that was open, and opens path if it has the build id. Returns true on success. */
static bool dwarf_file_try(struct dwarf_file *f, const struct symbol_module *m, const char *path)
{
	static Dwfl_Callbacks callbacks = {.find_debuginfo = copy_debug_link};
	GElf_Addr bias;

	callbacks.section_address = f->l->dwfl_offline_section_address;
	dwarf_file_close(f);
	f->dwfl = f->l->dwfl_begin(&callbacks);
	if (!f->dwfl)
		return false;
	f->l->dwfl_report_begin(f->dwfl);
	f->module = f->l->dwfl_report_offline(f->dwfl, "file", path, -1);
	f->l->dwfl_report_end(f->dwfl, NULL, NULL);
	if (!f->module || !has_build_id(f, m)) {
		dwarf_file_close(f);
		return false;
	}
	f->has_debug_info = f->l->dwfl_module_getdwarf(f->module, &bias) != NULL;
	return true;
}

__attribute__((format(printf, 3, 4))) static bool try_lines(struct dwarf_file *f,
							    const struct symbol_module *m,
							    const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return n > 0 && (size_t)n < sizeof(path) && access(path, R_OK) == 0 &&
	       dwarf_file_try(f, m, path) && f->has_debug_info;
}

/* Replaces the open file with its debug file: below a directory by build id, or by the link.
 * Returns true if one has debug information. */
static bool try_debug_files(struct dwarf_file *f, const struct dwarf_lines_job *job)
{
	const struct symbol_module *m = job->module;
	const char *slash = strrchr(m->path, '/'), *link = f->debug_link;
	int dir = slash ? (int)(slash - m->path) : 0;
	char hex[2 * SYMBOL_BUILD_ID_MAX + 1];

	for (size_t i = 0; i < m->n_build_id; i++)
		sprintf(hex + 2 * i, "%02x", m->build_id[i]);
	for (const char *at = job->debug_dirs, *next; *at; at = next) {
		int len = (int)strcspn(at, ":");

		next = at + len + (at[len] == ':');
		if (try_lines(f, m, "%.*s/.build-id/%.2s/%s.debug", len, at, hex, hex + 2) ||
		    (*link && try_lines(f, m, "%.*s%.*s/%s", len, at, dir, m->path, link)))
			return true;
	}
	return *link && (try_lines(f, m, "%.*s/%s", dir, m->path, link) ||
			 try_lines(f, m, "%.*s/.debug/%s", dir, m->path, link));
}

/* Opens the file that has the most: debug information, else symbols. Returns false if there is
 * none. */
static bool dwarf_file_open(struct dwarf_file *f, const struct dwarf_lines_job *job)
{
	const struct symbol_module *m = job->module;
	bool is_here = m->path[0] == '/';

	if (job->extra_file && dwarf_file_try(f, m, job->extra_file) && f->has_debug_info)
		return true;
	if (is_here && dwarf_file_try(f, m, m->path) && f->has_debug_info)
		return true;
	return try_debug_files(f, job) || (is_here && dwarf_file_try(f, m, m->path));
}

/* ---- the process: an address ---- */

static Dwarf_Die *find_unit_of_address(struct dwarf_file *f, GElf_Addr pc)
{
	const struct dwarf_library *l = f->l;

	if (f->unit && l->dwarf_haspc(f->unit, pc - f->unit_bias) == 1)
		return f->unit;
	f->unit = l->dwfl_module_addrdie(f->module, pc, &f->unit_bias);
	/* clang writes no table of addresses. */
	if (!f->unit)
		while ((f->unit = l->dwfl_module_nextcu(f->module, f->unit, &f->unit_bias)) &&
		       l->dwarf_haspc(f->unit, pc - f->unit_bias) != 1)
			;
	return f->unit;
}

static void put_text(struct pb_enc *e, uint32_t field, const char *text)
{
	if (text && *text && strnlen(text, DWARF_TEXT_MAX) < DWARF_TEXT_MAX)
		pb_enc_str(e, field, text);
}

static void put_line(struct pb_enc *e, const char *function, const char *source, uint64_t line)
{
	char demangled[DWARF_TEXT_MAX];

	pb_enc_open(e, PB_ADDRESS_SYMBOLS_LINES);
	if (function && demangle_name(function, demangled, sizeof(demangled)))
		function = demangled;
	put_text(e, PB_LINE_FUNCTION_NAME, function);
	put_text(e, PB_LINE_SOURCE_FILE_NAME, source);
	if (line && line <= UINT32_MAX)
		pb_enc_u64(e, PB_LINE_LINE_NUMBER, line);
	pb_enc_close(e);
}

static const char *function_name(const struct dwarf_library *l, Dwarf_Die *die)
{
	Dwarf_Attribute mem, *attr = l->dwarf_attr_integrate(die, DW_AT_linkage_name, &mem);
	const char *name;

	if (!attr)
		attr = l->dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &mem);
	name = attr ? l->dwarf_formstring(attr) : NULL;
	return name ? name : l->dwarf_diename(die);
}

static uint64_t read_attribute_number(const struct dwarf_library *l, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute mem;
	Dwarf_Word v = 0;

	return l->dwarf_formudata(l->dwarf_attr(die, name, &mem), &v) == 0 ? v : 0;
}

/* Writes the function at the address and those that it is inlined into, with a line in each. In the
 * innermost function this is the line of the address, in each of the others the line of the call.
 * Returns the number of functions written. */
static size_t put_functions(struct dwarf_file *f, Dwarf_Die *unit, Dwarf_Addr address,
			    struct pb_enc *e)
{
	const struct dwarf_library *l = f->l;
	Dwarf_Line *at = l->dwarf_getsrc_die(unit, address);
	const char *source = at ? l->dwarf_linesrc(at, NULL, NULL) : NULL;
	_cleanup_(freep) Dwarf_Die *inner = NULL, *scopes = NULL;
	int line = 0, n = l->dwarf_getscopes(unit, address, &inner);
	Dwarf_Files *files = NULL;
	size_t n_files = 0, count = 0;

	if (at)
		(void)l->dwarf_lineno(at, &line);
	(void)l->dwarf_getsrcfiles(unit, &files, &n_files);
	n = n > 0 ? l->dwarf_getscopes_die(&inner[0], &scopes) : 0;
	for (int i = 0; i < n && count < DWARF_LINES_MAX; i++) {
		int tag = l->dwarf_tag(&scopes[i]);
		uint64_t file;

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		put_line(e, function_name(l, &scopes[i]), source, line > 0 ? (uint64_t)line : 0);
		count++;
		if (tag == DW_TAG_subprogram)
			break;
		file = read_attribute_number(l, &scopes[i], DW_AT_call_file);
		source = file < n_files ? l->dwarf_filesrc(files, file, NULL, NULL) : NULL;
		line = (int)MIN(read_attribute_number(l, &scopes[i], DW_AT_call_line),
				(uint64_t)INT32_MAX);
	}
	return count;
}

/* Writes the AddressSymbols. Returns false if they would add nothing to the trace. */
static bool put_address(struct dwarf_file *f, const struct symbol_address *a, struct pb_enc *e)
{
	GElf_Addr pc = a->address + f->bias;
	Dwarf_Die *unit = f->has_debug_info ? find_unit_of_address(f, pc) : NULL;
	const char *name;
	GElf_Off offset;
	GElf_Sym symbol;

	pb_enc_u64(e, PB_ADDRESS_SYMBOLS_ADDRESS, a->address);
	if (unit && put_functions(f, unit, pc - f->unit_bias, e))
		return true;
	if (a->has_name)
		return false;
	name = f->l->dwfl_module_addrinfo(f->module, pc, &offset, &symbol, NULL, NULL, NULL);
	if (name)
		put_line(e, name, NULL, 0);
	return name;
}

/* ---- the process: its life ---- */

/* Allows this process only the system calls that reading a file needs. If the kernel refuses the
 * restriction, the process continues with the rights of the user. */
static void dwarf_lines_confine(void)
{
	static const char *const calls[] = {
		"access",	"brk",	   "close",   "exit_group", "faccessat", "faccessat2",
		"fcntl",	"fstat",   "futex",   "getrandom",  "lseek",	 "madvise",
		"munmap",	"mremap",  "pread64", "read",	    "readlink",	 "readlinkat",
		"newfstatat",	"sendmsg", "stat",    "statx",	    "sysinfo",	 "rt_sigprocmask",
		"rt_sigreturn", "write",   NULL,
	};
	static const struct syscall_without rest[] = {
		{"mmap", 2, PROT_EXEC},
		{"mmap2", 2, PROT_EXEC},
		{"mprotect", 2, PROT_EXEC},
		{"open", 1, O_ACCMODE | O_CREAT | O_TRUNC},
		{"openat", 2, O_ACCMODE | O_CREAT | O_TRUNC},
		{NULL, 0, 0},
	};
	const struct syscall_list list = {.allowed = calls, .without = rest, .is_whole = true};
	const struct rlimit limit = {DWARF_LINES_MEMORY, DWARF_LINES_MEMORY};

	if (!BUILT_WITH_SANITIZER)
		(void)setrlimit(RLIMIT_AS, &limit);
	(void)helper_confine(NULL, 0, &list);
}

static void send_lines(int fd, struct lines_message *m)
{
	if (helper_send(fd, m, LINES_HEAD + m->len, -1, 0) < 0)
		_exit(0); /* the parent has ended */
}

static void find_lines(int fd, struct dwarf_file *f, const struct dwarf_lines_job *job,
		       struct dwarf_lines_result *result)
{
	static struct lines_message m;
	struct pb_mem mem;

	if (pb_mem_init(&mem) < 0)
		return;
	for (size_t i = 0; i < job->module->n; i++) {
		pb_mem_reset(&mem);
		if (!put_address(f, &job->module->addresses[i], &mem.enc) || mem.failed ||
		    pb_mem_len(&mem) > sizeof(m.bytes))
			continue;
		m.len = (uint32_t)pb_mem_len(&mem);
		memcpy(m.bytes, mem.buf, m.len);
		send_lines(fd, &m);
		result->n++;
	}
	pb_mem_deinit(&mem);
}

static void dwarf_lines_run(int fd, void *ctx)
{
	const struct dwarf_lines_job *job = ctx;
	struct lines_message end = {.is_end = 1};
	struct dwarf_file *f = &the_file;

	f->l = job->library;
	(void)demangle_start_clock();
	dwarf_lines_confine();
	end.result.is_found = dwarf_file_open(f, job);
	end.result.has_debug_info = end.result.is_found && f->has_debug_info;
	if (end.result.is_found)
		find_lines(fd, f, job, &end.result);
	send_lines(fd, &end);
	_exit(0);
}

/* ---- this process ---- */

static bool is_complete_message(const struct lines_message *m)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, m->bytes, m->len);
	while (pb_dec_next(&d, &f))
		;
	return pb_dec_ok(&d);
}

int dwarf_lines_find(const struct dwarf_lines_job *job,
		     void (*add)(void *ctx, const uint8_t *message, size_t len), void *ctx,
		     struct dwarf_lines_result *ret)
{
	static struct lines_message m;
	const struct iovec part = {&m, sizeof(m)};
	struct helper_process p;
	int r = helper_process_start("sonda-lines", dwarf_lines_run, (void *)job, -1, &p);

	*ret = (struct dwarf_lines_result){0};
	m.is_end = 0;
	while (r == 0 && !m.is_end) {
		ssize_t n = helper_receive(p.fd, &part, 1, DWARF_LINES_WAIT_MS, NULL);

		if (n <= 0)
			r = n < 0 ? (int)n : -EPIPE;
		else if ((size_t)n < LINES_HEAD || m.len != (size_t)n - LINES_HEAD ||
			 !is_complete_message(&m))
			r = -EBADMSG;
		else if (m.is_end)
			*ret = m.result;
		else
			add(ctx, m.bytes, m.len);
	}
	if (p.pid > 0) {
		closep(&p.fd);
		kill(p.pid, SIGKILL);
		waitpid(p.pid, NULL, 0);
	}
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda symbolize: appends to a trace the functions, inlined functions and lines of its call
 * stacks, as ModuleSymbols packets. The packets of the trace stay as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/symbolize/debuginfod.h"
#include "cli/symbolize/dwarf_lines.h"
#include "cli/terminal/help.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_file.h"
#include "cli/trace_tables.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

static const char usage[] =
	"usage: sonda symbolize [OPTION]... -o OUT FILE\n\n"
	"Writes a copy of a trace with function names, inlined functions and source lines added to "
	"its\n"
	"call stacks. Names and lines come from debug information in the program, in a debug file "
	"beside\n"
	"it or in .debug/, or below /usr/lib/debug. A file is used only if its build ID matches "
	"the\n"
	"trace.\n\n"
	"  -o, --out OUT          output file\n"
	"      --in-place         replace FILE\n"
	"      --force            overwrite OUT if it exists\n"
	"      --debug-dir DIR    look for debug files below DIR as well (repeatable)\n"
	"      --debuginfod       fetch missing debug files from the DEBUGINFOD_URLS servers (this "
	"tells\n"
	"                         them which programs you recorded)\n"
	"  -h, --help             print this help\n\n"
	"example: sonda symbolize -o named.pftrace trace.pftrace\n";

static const char letters[] = ":o:h";

static const struct option long_options[] = {
	{"out", required_argument, NULL, 'o'},
	{"in-place", no_argument, NULL, 'i'},
	{"force", no_argument, NULL, 'f'},
	{"debug-dir", required_argument, NULL, 'd'},
	{"debuginfod", no_argument, NULL, 'D'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

#define PACKET_BYTES (1u << 20) /* a packet ends when it is longer */
#define UNFOUND_SHOWN 10 /* files without debug information that are named */

struct symbolize_options {
	const char *file, *out;
	bool in_place, force, asks_servers;
	struct strbuf debug_dirs; /* owned: directories, separated by colons */
};

/* ---- the command line ---- */

static int symbolize_handle_option(void *ctx, int option, struct err_text *e)
{
	struct symbolize_options *o = ctx;

	switch (option) {
	case 'o':
		o->out = optarg;
		return *optarg ? 0 : err_set(e, -EINVAL, "-o needs a file name");
	case 'i':
		o->in_place = true;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	case 'D':
		o->asks_servers = true;
		return 0;
	case 'd':
		if (*optarg != '/' || strchr(optarg, ':'))
			return err_set(e, -EINVAL,
				       "--debug-dir %.80s must be an absolute path without a colon",
				       optarg);
		strbuf_printf(&o->debug_dirs, ":%s", optarg);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Takes FILE from the words and checks the options. Returns 0, or -EINVAL and sets e. */
static int symbolize_complete_options(struct symbolize_options *o, char **words, int n,
				      struct err_text *e)
{
	struct stat st;

	if (n == 0)
		return err_set(e, -EINVAL, "FILE is missing");
	if (n > 1)
		return err_set(e, -EINVAL, "only one FILE can be given");
	o->file = words[0];
	if (!o->out == !o->in_place)
		return err_set(e, -EINVAL, "-o and --in-place cannot be combined");
	if (o->in_place)
		o->out = o->file;
	else if (!o->force && strcmp(o->out, "-") != 0 && stat(o->out, &st) == 0 &&
		 S_ISREG(st.st_mode))
		return err_set(e, -EINVAL,
			       "%s already exists; replace it with --force, or choose another name "
			       "with -o",
			       o->out);
	return 0;
}

/* ---- the symbols ---- */

/* The packets for the trace, and the figures of the summary. */
struct symbolizing {
	const struct symbolize_options *o; /* borrowed */
	struct dwarf_library library; /* owned */
	struct debuginfod *servers; /* owned; NULL: not asked */
	struct trace_file *file; /* owned */
	struct pb_mem packet; /* of the module */
	const struct symbol_module *module; /* whose addresses are being added */
	size_t n_addresses, n_found, n_modules;
	size_t n_unfound; /* files without debug information */
	int error; /* error of writing, as -errno */
};

static void symbolizing_end_packet(struct symbolizing *s)
{
	if (s->packet.enc.depth == 0)
		return;
	pb_enc_close(&s->packet.enc);
	if (s->packet.failed)
		s->error = -ENOMEM;
	else if (s->error == 0)
		s->error = trace_file_add_packet(s->file, s->packet.buf, pb_mem_len(&s->packet));
}

static void symbolizing_begin_packet(struct symbolizing *s)
{
	struct pb_enc *e = &s->packet.enc;

	pb_mem_reset(&s->packet);
	pb_enc_open(e, PB_TRACE_PACKET_MODULE_SYMBOLS);
	pb_enc_str(e, PB_MODULE_SYMBOLS_PATH, s->module->path);
	pb_enc_bytes(e, PB_MODULE_SYMBOLS_BUILD_ID, s->module->build_id, s->module->n_build_id);
}

static void symbolizing_add_address(void *ctx, const uint8_t *message, size_t len)
{
	struct symbolizing *s = ctx;

	if (s->packet.enc.depth && pb_mem_len(&s->packet) > PACKET_BYTES) {
		symbolizing_end_packet(s);
		pb_mem_reset(&s->packet);
	}
	if (s->packet.enc.depth == 0)
		symbolizing_begin_packet(s);
	pb_enc_bytes(&s->packet.enc, PB_MODULE_SYMBOLS_ADDRESS_SYMBOLS, message, len);
}

/* Adds the symbols of the module, from its file on this machine or, if extra_file is given, from
 * that debug file. Returns true if there was debug information. */
static bool look_up_lines(struct symbolizing *s, const char *extra_file)
{
	const struct dwarf_lines_job job = {.library = &s->library,
					    .module = s->module,
					    .extra_file = extra_file,
					    .debug_dirs = s->o->debug_dirs.s};
	struct dwarf_lines_result result;
	int r;

	pb_mem_reset(&s->packet);
	r = dwarf_lines_find(&job, symbolizing_add_address, s, &result);
	if (r < 0)
		log_warn("%s: cannot read all of its debug information: %s", s->module->path,
			 strerror(-r));
	/* Names without lines are kept only if nothing better can come. */
	if (r == 0 && !result.has_debug_info && s->servers && !extra_file)
		return false;
	symbolizing_end_packet(s);
	s->n_found += result.n;
	return result.has_debug_info;
}

static void symbolize_module(struct symbolizing *s, const struct symbol_module *m)
{
	_cleanup_(freep) char *path = NULL;
	bool has_lines;

	s->module = m;
	s->n_addresses += m->n;
	has_lines = look_up_lines(s, NULL);
	if (!has_lines && s->servers) {
		path = debuginfod_find(s->servers, m);
		has_lines = look_up_lines(s, path ?: "/dev/null");
	}
	if (!has_lines && s->n_unfound++ < UNFOUND_SHOWN)
		log_warn("no debug information: %s", m->path);
}

/* ---- the trace ---- */

static int copy_packets(const char *path, struct trace_file *to, struct err_text *e)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct pb_field f;
	struct pb_dec d;
	struct stat st;
	uint8_t *data;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_set(e, -errno, "cannot read %s: %s", path, strerror(errno));
	pb_dec_init(&d, data, (size_t)st.st_size);
	while (r == 0 && pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_PACKET && f.data)
			r = trace_file_add_packet(to, f.data, f.len);
	munmap(data, (size_t)st.st_size);
	return r < 0 ? err_set(e, r, "cannot write the copy of the trace: %s", strerror(-r)) : 0;
}

static int read_modules(const struct symbolize_options *o, struct symbol_modules *ret,
			struct err_text *e)
{
	struct trace_tables tables;
	int r = trace_tables_open(o->file, 0, &tables, e);

	if (r < 0)
		return r;
	trace_tables_warn(&tables);
	r = symbol_modules_read(tables.db, ret);
	trace_tables_close(&tables);
	if (r != SQLITE_OK)
		return err_set(e, -EIO, "cannot read the call stacks of %s: %s", o->file,
			       sqlite3_errstr(r));
	if (ret->n == 0)
		return err_set(e, -ENODATA,
			       "%s has no user call stacks to symbolize; record some with sonda "
			       "record --cpu-stacks",
			       o->file);
	return 0;
}

static int symbolize_save_trace(struct symbolizing *s, struct err_text *e)
{
	char count[STR_COUNT_SIZE];
	char size[32];
	int r = s->error < 0 ? err_set(e, s->error, "cannot write %s: %s", s->o->out,
				       strerror(-s->error))
			     : trace_file_save(s->file, e);

	if (r < 0)
		return r;
	if (s->n_unfound > UNFOUND_SHOWN)
		log_warn("no debug information: and %s",
			 str_count(s->n_unfound - UNFOUND_SHOWN, "more file", count));
	log_info("resolved %zu of %zu addresses, in %zu of %zu files", s->n_found, s->n_addresses,
		 s->n_modules - s->n_unfound, s->n_modules);
	if (strcmp(s->o->out, "-") != 0)
		verb_print_file_name(s->o->out, str_bytes(trace_file_bytes(s->file), size));
	return 0;
}

static int symbolize_modules(struct symbolizing *s, const struct symbol_modules *modules,
			     struct err_text *e)
{
	int r = pb_mem_init(&s->packet);

	if (r < 0)
		return err_set(e, r, "out of memory");
	r = trace_file_open(s->o->out, e, &s->file);
	if (r == 0)
		r = copy_packets(s->o->file, s->file, e);
	s->n_modules = modules->n;
	for (size_t i = 0; r == 0 && s->error == 0 && i < modules->n; i++)
		symbolize_module(s, &modules->of[i]);
	if (r == 0)
		r = symbolize_save_trace(s, e);
	trace_file_free(s->file);
	pb_mem_deinit(&s->packet);
	return r;
}

static int symbolize_run(const struct symbolize_options *o, struct err_text *e)
{
	_cleanup_(freep) char *urls = NULL;
	struct symbolizing s = {.o = o};
	struct symbol_modules modules = {0};
	int r = 0;

	if (getenv("DEBUGINFOD_URLS"))
		urls = strdup(getenv("DEBUGINFOD_URLS"));
	unsetenv("DEBUGINFOD_URLS"); /* libdw would ask the servers by itself */
	if (o->asks_servers && (!urls || !*urls))
		return err_set(e, -EINVAL, "--debuginfod: no servers; set DEBUGINFOD_URLS");
	signal(SIGXFSZ, SIG_IGN);
	r = dwarf_library_open(&s.library, e);
	if (r == 0 && o->asks_servers)
		r = debuginfod_open(urls, &s.servers, e);
	if (r == 0)
		r = read_modules(o, &modules, e);
	if (r == 0)
		r = symbolize_modules(&s, &modules, e);
	symbol_modules_deinit(&modules);
	debuginfod_close(s.servers);
	dwarf_library_close(&s.library);
	return r;
}

int cmd_symbolize(int argc, char **argv)
{
	struct symbolize_options o = {.file = NULL};
	struct err_text e;
	int r;

	strbuf_puts(&o.debug_dirs, "/usr/lib/debug");
	r = options_parse(argc, argv, letters, long_options, symbolize_handle_option, &o, &e);
	if (r > 0)
		help_print(usage);
	if (r == 0)
		r = symbolize_complete_options(&o, argv + optind, argc - optind, &e);
	if (r < 0) {
		log_error("symbolize: %s", e.text);
		log_error("see sonda help symbolize");
	} else if (r == 0 && symbolize_run(&o, &e) < 0) {
		log_error("symbolize: %s", e.text);
		r = EXIT_FAILED;
	} else {
		r = EXIT_GOOD;
	}
	strbuf_deinit(&o.debug_dirs);
	return r < 0 ? EXIT_USAGE : r;
}

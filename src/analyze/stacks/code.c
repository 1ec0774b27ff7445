/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stacks/code.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/store/columns.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

#define DEPTH_MAX 1024 /* callers above these are not looked at */

/* A function by its file and its name, or its address. */
struct code_key {
	uint64_t file; /* a file's number */
	uint64_t name; /* a string, or NULL_U32 */
	uint64_t address;
};

struct code_node {
	struct code_key key;
	uint32_t function;
	UT_hash_handle hh;
};

/* Mappings whose paths end in the same name are one file. */
struct code_file {
	const char *name; /* borrowed */
	uint32_t number;
	UT_hash_handle hh;
};

/* The state of code_init() while it runs. */
struct code_reader {
	struct code *c;
	struct code_node *nodes; /* owned hash */
	struct code_file *files; /* owned hash */
	uint32_t *file_of; /* owned: number of the file, by mapping */
	size_t cap, n_chain, cap_chain;
	uint32_t kernel_type; /* strings, or NULL_U32 */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool read_files(struct code_reader *r)
{
	const struct store *s = r->c->s;
	const struct table *t = &s->tables[TABLE_STACK_MAPPING];

	r->file_of = calloc((size_t)t->rows + 1, sizeof(*r->file_of));
	for (uint32_t row = 0; r->file_of && row < t->rows; row++) {
		const char *name =
			base_name(strings_get(&s->strings, table_u32(t, STACK_MAPPING_NAME, row)));
		struct code_file *f;

		HASH_FIND(hh, r->files, name, (unsigned)strlen(name), f);
		if (!f) {
			f = calloc(1, sizeof(*f));
			if (!f)
				return false;
			f->name = name;
			f->number = HASH_COUNT(r->files);
			HASH_ADD_KEYPTR(hh, r->files, f->name, (unsigned)strlen(name), f);
			if (!f->hh.tbl) {
				free(f);
				return false;
			}
		}
		r->file_of[row] = f->number;
	}
	return r->file_of;
}

/* Returns the kind of a frame's function. Notes are frames of the kernel whose names are in
 * brackets. */
static enum code_kind kind_of_frame(const struct code_reader *r, uint32_t frame,
				    const struct code_function *f)
{
	const struct store *s = r->c->s;
	const char *path = strings_get(&s->strings, f->path);
	const char *name = strings_get(&s->strings, f->name);
	bool is_kernel = !strcmp(path, "/kernel") || str_starts(path, "[kernel") ||
			 (r->kernel_type != NULL_U32 &&
			  table_u32(&s->tables[TABLE_STACK_FRAME], STACK_FRAME_TYPE, frame) ==
				  r->kernel_type);

	return !is_kernel			     ? CODE_USER
	       : *name == '[' && str_ends(name, "]") ? CODE_NOTE
						     : CODE_KERNEL;
}

/* Returns the function of a frame by its name, added at its first use; NULL_U32 if out of memory.
 * name NULL_U32: the code has no name. */
static uint32_t get_code_function(struct code_reader *r, uint32_t frame, uint32_t name)
{
	const struct store *s = r->c->s;
	const struct table *frames = &s->tables[TABLE_STACK_FRAME];
	const struct table *mappings = &s->tables[TABLE_STACK_MAPPING];
	uint32_t mapping = table_u32(frames, STACK_FRAME_MAPPING, frame);
	uint64_t pc = (uint64_t)table_i64(frames, STACK_FRAME_REL_PC, frame);
	struct code_key key = {
		.file = mapping < mappings->rows ? r->file_of[mapping] : NULL_U32,
		.name = name,
		.address = name == NULL_U32 ? pc / CODE_RANGE * CODE_RANGE : 0,
	};
	struct code_function *f;
	struct code_node *n;

	HASH_FIND(hh, r->nodes, &key, sizeof(key), n);
	if (n)
		return n->function;
	n = calloc(1, sizeof(*n));
	if (!n || array_reserve(&r->c->of, &r->cap, r->c->n + 1, sizeof(*r->c->of)) < 0) {
		free(n);
		return NULL_U32;
	}
	n->key = key;
	n->function = r->c->n;
	HASH_ADD(hh, r->nodes, key, sizeof(n->key), n);
	if (!n->hh.tbl) {
		free(n);
		return NULL_U32;
	}
	f = &r->c->of[r->c->n++];
	*f = (struct code_function){.name = name, .path = 0, .address = key.address};
	if (mapping < mappings->rows)
		f->path = table_u32(mappings, STACK_MAPPING_NAME, mapping);
	f->kind = kind_of_frame(r, frame, f);
	return n->function;
}

static bool add_function_to_chain(struct code_reader *r, uint32_t function)
{
	if (function == NULL_U32 ||
	    array_reserve(&r->c->chain, &r->cap_chain, r->n_chain + 1, sizeof(*r->c->chain)) < 0)
		return false;
	r->c->chain[r->n_chain++] = function;
	return true;
}

/* Adds the functions of a frame, the outermost first: those of its symbols, which begin with the
 * innermost one, or else its own. Returns false if out of memory. */
static bool read_functions_of_frame(struct code_reader *r, uint32_t frame)
{
	const struct table *frames = &r->c->s->tables[TABLE_STACK_FRAME];
	const struct table *symbols = &r->c->s->tables[TABLE_STACK_SYMBOL];
	uint32_t set = table_u32(frames, STACK_FRAME_SYMBOL_SET, frame), end = set;
	uint32_t name = table_u32(frames, STACK_FRAME_NAME, frame);

	while (end < symbols->rows && table_u32(symbols, STACK_SYMBOL_SET, end) == set)
		end++;
	if (set >= end)
		return add_function_to_chain(r, get_code_function(r, frame, name));
	while (end-- > set) {
		uint32_t symbol = table_u32(symbols, STACK_SYMBOL_NAME, end);

		if (!add_function_to_chain(
			    r, get_code_function(r, frame, symbol == NULL_U32 ? name : symbol)))
			return false;
	}
	return true;
}

bool code_init(struct code *c, const struct store *s)
{
	uint32_t n_frames = s->tables[TABLE_STACK_FRAME].rows;
	struct code_reader r = {.c = c, .kernel_type = strings_find(&s->strings, "kernel", 6)};
	bool good;

	*c = (struct code){.s = s};
	c->first = calloc((size_t)n_frames + 1, sizeof(*c->first));
	good = c->first && read_files(&r);
	for (uint32_t frame = 0; good && frame < n_frames; frame++) {
		good = read_functions_of_frame(&r, frame);
		c->first[frame + 1] = (uint32_t)r.n_chain;
	}
	HASH_FREE(r.nodes);
	HASH_FREE(r.files);
	free(r.file_of);
	return good;
}

void code_deinit(struct code *c)
{
	free(c->of);
	free(c->chain);
	free(c->first);
	*c = (struct code){.s = NULL};
}

const char *code_file(const struct code *c, uint32_t function)
{
	const struct code_function *f = &c->of[function];

	return f->kind == CODE_NOTE ? "" : base_name(strings_get(&c->s->strings, f->path));
}

void code_put_name(const struct code *c, uint32_t function, struct strbuf *b)
{
	const struct code_function *f = &c->of[function];
	const char *file = code_file(c, function);
	const struct interned_string *name;

	if (f->name == NULL_U32) {
		strbuf_printf(b, "%s+0x%" PRIx64, *file ? file : "(unknown)", f->address);
		return;
	}
	name = &c->s->strings.of[f->name];
	strbuf_add(b, name->s, name->len);
}

/* ---- the function that best explains a wait ---- */

/* Returns true for a library whose functions wait for their callers. */
static bool is_runtime_library(const char *file)
{
	static const char *const names[] = {"libc.so",	  "libc-",     "ld-linux",   "ld-musl",
					    "libpthread", "libstdc++", "libgcc_s",   "librt.so",
					    "librt-",	  "[vdso]",    "linux-vdso", "linux-gate"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_starts(file, names[i]))
			return true;
	return false;
}

/* Returns true for a kernel function that does not tell why a thread was woken: most of them are
 * part of every wakeup. */
static bool says_nothing_about_cause(const char *name)
{
	static const char *const names[] = {"try_to_wake_up",
					    "default_wake_function",
					    "wake_up_",
					    "__wake_up",
					    "autoremove_wake_",
					    "ttwu_",
					    "pollwake",
					    "ep_poll_callback",
					    "ep_autoremove_",
					    "complete",
					    "swake_up_",
					    "futex_wake",
					    "__futex_wake",
					    "wake_q_",
					    "pipe_write",
					    "sock_def_readable",
					    "__traceiter_",
					    "bpf_",
					    "woken_wake_function",
					    "child_wait_callback",
					    "do_syscall_64",
					    "entry_SYSCALL_64"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_starts(name, names[i]))
			return true;
	return false;
}

struct candidates {
	uint32_t own, user, kernel, kernel_cause; /* the innermost of each; NULL_U32: none */
};

static void rank_candidate_function(const struct code *c, uint32_t function, struct candidates *to)
{
	const struct code_function *f = &c->of[function];

	if (f->kind == CODE_NOTE)
		return;
	if (f->kind == CODE_KERNEL) {
		if (to->kernel == NULL_U32)
			to->kernel = function;
		if (to->kernel_cause == NULL_U32 && f->name != NULL_U32 &&
		    !says_nothing_about_cause(strings_get(&c->s->strings, f->name)))
			to->kernel_cause = function;
		return;
	}
	if (to->user == NULL_U32)
		to->user = function;
	if (to->own == NULL_U32 && !is_runtime_library(code_file(c, function)))
		to->own = function;
}

static struct candidates find_candidates(const struct code *c, uint32_t site)
{
	struct candidates ret = {NULL_U32, NULL_U32, NULL_U32, NULL_U32};
	const struct table *sites = &c->s->tables[TABLE_STACK_CALLSITE];

	for (unsigned n = 0; site < sites->rows && n < DEPTH_MAX && ret.own == NULL_U32; n++) {
		uint32_t frame = table_u32(sites, STACK_CALLSITE_FRAME, site);

		for (uint32_t i = c->first[frame + 1]; i-- > c->first[frame];)
			rank_candidate_function(c, c->chain[i], &ret);
		site = table_u32(sites, STACK_CALLSITE_PARENT, site);
	}
	return ret;
}

uint32_t code_own_function(const struct code *c, uint32_t site)
{
	struct candidates f = find_candidates(c, site);

	return f.own != NULL_U32 ? f.own : f.user != NULL_U32 ? f.user : f.kernel;
}

bool code_waits_for_condition(const struct code *c, uint32_t site)
{
	static const char *const names[] = {"pthread_cond_", "__pthread_cond_", "cnd_wait",
					    "cnd_timedwait", "sem_wait",	"sem_timedwait",
					    "sem_clockwait", "__new_sem_wait"};
	const struct table *sites = &c->s->tables[TABLE_STACK_CALLSITE];

	for (unsigned n = 0; site < sites->rows && n < DEPTH_MAX; n++) {
		uint32_t frame = table_u32(sites, STACK_CALLSITE_FRAME, site);

		for (uint32_t i = c->first[frame]; i < c->first[frame + 1]; i++) {
			const struct code_function *f = &c->of[c->chain[i]];

			for (size_t k = 0; f->kind == CODE_USER && k < ARRAY_SIZE(names); k++)
				if (str_starts(strings_get(&c->s->strings, f->name), names[k]))
					return true;
		}
		site = table_u32(sites, STACK_CALLSITE_PARENT, site);
	}
	return false;
}

uint32_t code_waking_function(const struct code *c, uint32_t site)
{
	struct candidates f = find_candidates(c, site);

	return f.own != NULL_U32	    ? f.own
	       : f.user != NULL_U32	    ? f.user
	       : f.kernel_cause != NULL_U32 ? f.kernel_cause
					    : f.kernel;
}

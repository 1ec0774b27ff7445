/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/proc_parse.h"

#include <errno.h>
#include <string.h>

#include "base/core/mem.h"

/*
 * /proc/PID/status has one "Key:\tvalue\n" in each line. The first line is the name that the task
 * chose:
 *
 *	Name:\tTgid:\t1\n	the name is "Tgid:\t1"
 *	Umask:\t0022\n
 *	Tgid:\t4711\n		the process id
 *
 * A name may have any byte but NUL; the kernel writes a newline as "\n" and a backslash as "\\"
 * (proc_task_name). So line ends are real, and a key is a key only at the start of a line.
 *
 * /proc/PID/stat has the name in parentheses without escapes, and "a) R 1 (" is a valid name. After
 * the name there are only numbers and one letter, so the last parenthesis ends the name.
 */

enum value_kind { VALUE_NAME, VALUE_I32, VALUE_U32, VALUE_BOOL, VALUE_NSPID, VALUE_KB };

struct status_line {
	const char *key;
	uint8_t len;
	uint8_t kind;
	uint16_t at; /* offset in struct proc_status */
};

#define LINE(text, kind, member)                                                                   \
	{                                                                                          \
		text, sizeof(text) - 1, kind, offsetof(struct proc_status, member)                 \
	}
#define KB_LINE(id, text)                                                                          \
	[PROC_STATUS_##id] = LINE(text, VALUE_KB, kb[PROC_STATUS_##id - PROC_STATUS_VM_SIZE])

static const struct status_line status_lines[PROC_STATUS_KEYS] = {
	[PROC_STATUS_NAME] = LINE("Name", VALUE_NAME, name),
	[PROC_STATUS_TGID] = LINE("Tgid", VALUE_I32, tgid),
	[PROC_STATUS_PID] = LINE("Pid", VALUE_I32, pid),
	[PROC_STATUS_PPID] = LINE("PPid", VALUE_I32, ppid),
	[PROC_STATUS_UID] = LINE("Uid", VALUE_U32, uid),
	[PROC_STATUS_NSPID] = LINE("NSpid", VALUE_NSPID, nspid),
	[PROC_STATUS_KTHREAD] = LINE("Kthread", VALUE_BOOL, kthread),
	[PROC_STATUS_THREADS] = LINE("Threads", VALUE_U32, threads),
	KB_LINE(VM_SIZE, "VmSize"),
	KB_LINE(VM_LCK, "VmLck"),
	KB_LINE(VM_HWM, "VmHWM"),
	KB_LINE(VM_RSS, "VmRSS"),
	KB_LINE(RSS_ANON, "RssAnon"),
	KB_LINE(RSS_FILE, "RssFile"),
	KB_LINE(RSS_SHMEM, "RssShmem"),
	KB_LINE(VM_SWAP, "VmSwap"),
};
_Static_assert(PROC_STATUS_KEYS <= 32, "struct proc_status.has is 32 bits");

static bool proc_status_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* Parses the decimal number after blanks at *p and advances *p past it. Returns false, and leaves
 * *p, if there is no number or if it is above max. */
static bool parse_next_number(const char **p, const char *end, uint64_t max, uint64_t *ret_v)
{
	const char *q = skip_blanks(*p, end);
	uint64_t v = 0;

	if (q == end || !proc_status_is_digit(*q))
		return false;
	for (; q < end && proc_status_is_digit(*q); q++) {
		uint64_t digit = (uint64_t)(*q - '0');

		if (v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*p = q;
	*ret_v = v;
	return true;
}

static void name_append(struct proc_name *n, char c)
{
	if (n->len < sizeof(n->s))
		n->s[n->len++] = c;
}

/* Undoes the two escapes of the kernel; any other backslash stands for itself. */
static void parse_escaped_name(const char *p, const char *end, struct proc_name *ret)
{
	ret->len = 0;
	for (; p < end; p++) {
		char next = p + 1 < end ? p[1] : 0;

		if (*p != '\\' || (next != 'n' && next != '\\')) {
			name_append(ret, *p);
			continue;
		}
		name_append(ret, next == 'n' ? '\n' : '\\');
		p++;
	}
}

static bool parse_nspid(const char *p, const char *end, struct proc_status *s)
{
	uint64_t v;

	if (!parse_next_number(&p, end, INT32_MAX, &v))
		return false;
	while (s->n_nspid < PROC_NSPID_MAX && parse_next_number(&p, end, INT32_MAX, &v))
		s->nspid[s->n_nspid++] = (int32_t)v;
	return true;
}

/* Stores the value of a line, the text from p to end. Returns false if it has no valid number. */
static bool parse_status_value(const struct status_line *l, const char *p, const char *end,
			       struct proc_status *s)
{
	void *at = (char *)s + l->at;
	uint64_t v;

	switch (l->kind) {
	case VALUE_NAME:
		/* One tab is part of the format; further ones are part of the name. */
		parse_escaped_name(p < end && *p == '\t' ? p + 1 : p, end, at);
		return true;
	case VALUE_NSPID:
		return parse_nspid(p, end, s);
	case VALUE_I32:
		if (parse_next_number(&p, end, INT32_MAX, &v))
			break;
		return false;
	case VALUE_U32:
		if (parse_next_number(&p, end, UINT32_MAX, &v))
			break;
		return false;
	default:
		if (parse_next_number(&p, end, UINT64_MAX, &v))
			break;
		return false;
	}
	if (l->kind == VALUE_BOOL)
		*(bool *)at = v != 0;
	else if (l->kind == VALUE_KB)
		*(uint64_t *)at = v;
	else
		*(uint32_t *)at = (uint32_t)v;
	return true;
}

/* Returns the key of the line, or PROC_STATUS_KEYS. */
static unsigned find_status_key(const char *p, const char *end)
{
	for (unsigned k = 0; k < ARRAY_SIZE(status_lines); k++) {
		const struct status_line *l = &status_lines[k];

		if (l->key[0] == *p && l->len < end - p && p[l->len] == ':' &&
		    memcmp(l->key, p, l->len) == 0)
			return k;
	}
	return PROC_STATUS_KEYS;
}

/* Parses a line. Returns false if no key that is needed can follow. */
static bool parse_status_line(const char *p, const char *end, struct proc_status *s)
{
	unsigned k = find_status_key(p, end);

	if (k == PROC_STATUS_KEYS || proc_status_has(s, k))
		return true;
	if (parse_status_value(&status_lines[k], p + status_lines[k].len + 1, end, s))
		s->has |= 1u << k;
	/* The rest, half of the text, is about signals, capabilities and CPUs. */
	return k != PROC_STATUS_THREADS;
}

/* Returns true if "voluntary_ctxt_switches:" or "nonvoluntary_ctxt_switches:" is not 0. Both lines
 * are near the end, and the key occurs in both. */
static bool has_context_switches(const char *text, const char *end)
{
	static const char key[] = "voluntary_ctxt_switches:";
	const char *p = text;
	uint64_t n;

	while ((p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1))) {
		p += sizeof(key) - 1;
		if (parse_next_number(&p, end, UINT64_MAX, &n) && n)
			return true;
	}
	return false;
}

int proc_status_parse(const char *text, size_t len, struct proc_status *ret)
{
	const uint32_t need =
		1u << PROC_STATUS_NAME | 1u << PROC_STATUS_TGID | 1u << PROC_STATUS_PID;
	const char *end = text + len;
	struct proc_status s = {0};

	for (const char *p = text; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *line_end = nl ? nl : end;

		if (p < line_end && !parse_status_line(p, line_end, &s))
			break;
		p = nl ? nl + 1 : end;
	}
	if ((s.has & need) != need)
		return -EBADMSG;
	s.has_switched = has_context_switches(text, end);
	*ret = s;
	return 0;
}

int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret)
{
	const char *p = memrchr(text, ')', len), *end = text + len;
	struct proc_stat s = {0};

	if (!p)
		return -EBADMSG;
	/* Fields are numbered from 1: the pid is 1, (name) is 2, the word after it is 3. */
	p++;
	for (unsigned field = 3; field <= 22; field++) {
		uint64_t *want = field == 14   ? &s.utime
				 : field == 15 ? &s.stime
				 : field == 22 ? &s.starttime
					       : NULL;

		p = skip_blanks(p, end);
		if (want && !parse_next_number(&p, end, UINT64_MAX, want))
			return -EBADMSG;
		while (p < end && *p != ' ')
			p++;
	}
	*ret = s;
	return 0;
}

static const char *const smaps_keys[PROC_SMAPS_KEYS] = {
	[PROC_SMAPS_RSS] = "Rss:",
	[PROC_SMAPS_PSS] = "Pss:",
	[PROC_SMAPS_PSS_ANON] = "Pss_Anon:",
	[PROC_SMAPS_PSS_FILE] = "Pss_File:",
	[PROC_SMAPS_PSS_SHMEM] = "Pss_Shmem:",
	[PROC_SMAPS_SWAP_PSS] = "SwapPss:",
};

static void parse_smaps_line(const char *p, const char *end, struct proc_smaps *s)
{
	for (unsigned k = 0; k < ARRAY_SIZE(smaps_keys); k++) {
		size_t n = strlen(smaps_keys[k]);

		if ((size_t)(end - p) < n || memcmp(p, smaps_keys[k], n) != 0)
			continue;
		p += n;
		if (parse_next_number(&p, end, UINT64_MAX, &s->kb[k]))
			s->has |= 1u << k;
		return;
	}
}

void proc_smaps_parse(const char *text, size_t len, struct proc_smaps *ret)
{
	const char *end = text + len;

	*ret = (struct proc_smaps){0};
	for (const char *p = text; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *line_end = nl ? nl : end;

		parse_smaps_line(p, line_end, ret);
		p = nl ? nl + 1 : end;
	}
}

int proc_number_parse(const char *text, size_t len, int64_t *ret_v)
{
	const char *p = skip_blanks(text, text + len), *end = text + len;
	bool negative = p < end && *p == '-';
	uint64_t v;

	if (negative)
		p++;
	if (p == end || !proc_status_is_digit(*p) || !parse_next_number(&p, end, INT64_MAX, &v))
		return -EBADMSG;
	if (p < end && *p != '\n')
		return -EBADMSG;
	*ret_v = negative ? -(int64_t)v : (int64_t)v;
	return 0;
}

void proc_comm_parse(const char *text, size_t len, struct proc_name *ret)
{
	if (len > 0 && text[len - 1] == '\n')
		len--;
	ret->len = (uint8_t)MIN(len, sizeof(ret->s));
	memcpy(ret->s, text, ret->len);
}

const char *proc_cmdline_next(const char *p, const char *end, const char **ret_arg, size_t *ret_len)
{
	const char *nul;

	while (p < end && *p == '\0')
		p++;
	if (p == end)
		return NULL;
	nul = memchr(p, '\0', (size_t)(end - p));
	*ret_arg = p;
	*ret_len = (size_t)((nul ? nul : end) - p);
	return nul ? nul + 1 : end;
}

/* ---- resources that a task has used ---- */

static const char *const io_names[PROC_IO_KEYS] = {
	[PROC_IO_RCHAR] = "rchar",
	[PROC_IO_WCHAR] = "wchar",
	[PROC_IO_SYSCR] = "syscr",
	[PROC_IO_SYSCW] = "syscw",
	[PROC_IO_READ_BYTES] = "read_bytes",
	[PROC_IO_WRITE_BYTES] = "write_bytes",
	[PROC_IO_CANCELLED_WRITE_BYTES] = "cancelled_write_bytes",
};

static void parse_io_line(struct span line, struct proc_io *io)
{
	struct span key, value;
	const char *p;

	if (!span_split(line, &key, &value))
		return;
	for (unsigned k = 0; k < PROC_IO_KEYS; k++) {
		if (!span_is(key, io_names[k]))
			continue;
		p = value.p;
		if (!(io->has >> k & 1) &&
		    parse_next_number(&p, p + value.len, INT64_MAX, &io->v[k]))
			io->has |= 1u << k;
		return;
	}
}

int proc_io_parse(const char *text, size_t len, struct proc_io *ret)
{
	struct span rest = {text, len}, line;
	struct proc_io io = {0};

	while (span_next_line(&rest, &line))
		parse_io_line(line, &io);
	if (!io.has)
		return -EBADMSG;
	*ret = io;
	return 0;
}

int proc_schedstat_parse(const char *text, size_t len, struct proc_schedstat *ret)
{
	const char *p = text, *end = text + len;
	struct proc_schedstat s;

	if (!parse_next_number(&p, end, INT64_MAX, &s.run_ns) ||
	    !parse_next_number(&p, end, INT64_MAX, &s.wait_ns) ||
	    !parse_next_number(&p, end, INT64_MAX, &s.slices))
		return -EBADMSG;
	*ret = s;
	return 0;
}

/* ---- cgroup: "ID:CONTROLLER,CONTROLLER:PATH"; the id of version 2 is 0 ---- */

enum rank { RANK_ROOT, RANK_OTHER, RANK_MEMORY, RANK_SYSTEMD, RANK_V2 };

static bool has_controller(struct span list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list.p, *end = p + list.len; p < end;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *word_end = comma ? comma : end;

		if ((size_t)(word_end - p) == n && memcmp(p, name, n) == 0)
			return true;
		p = comma ? comma + 1 : end;
	}
	return false;
}

static enum rank rank_hierarchy(struct span number, struct span controllers, struct span path)
{
	if (span_is(path, "/"))
		return RANK_ROOT;
	if (span_is(number, "0") && controllers.len == 0)
		return RANK_V2;
	if (has_controller(controllers, "name=systemd"))
		return RANK_SYSTEMD;
	return has_controller(controllers, "memory") ? RANK_MEMORY : RANK_OTHER;
}

/* Cuts the field before the next colon off *rest. Unlike span_split(), trims nothing: a blank at
 * the end of *rest is part of the path. */
static bool cgroup_cut_field(struct span *rest, struct span *ret_field)
{
	const char *colon = rest->len ? memchr(rest->p, ':', rest->len) : NULL;

	if (!colon)
		return false;
	*ret_field = (struct span){rest->p, (size_t)(colon - rest->p)};
	rest->len -= ret_field->len + 1;
	rest->p = colon + 1;
	return true;
}

int proc_cgroup_parse(const char *text, size_t len, struct span *ret_path)
{
	struct span rest = {text, len}, line, number, controllers, path = {0};
	enum rank best = RANK_ROOT;

	while (span_next_line(&rest, &line)) {
		enum rank rank;

		if (!cgroup_cut_field(&line, &number) || !cgroup_cut_field(&line, &controllers) ||
		    line.len == 0 || line.p[0] != '/')
			continue;
		rank = rank_hierarchy(number, controllers, line);
		if (path.len && rank <= best)
			continue;
		path = line;
		best = rank;
	}
	if (!path.len)
		return -EBADMSG;
	*ret_path = path;
	return 0;
}

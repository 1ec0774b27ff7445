/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * System calls with what their arguments point to.
 *
 *	sys_enter    the slot of the thread gets the call and its arguments; strings and socket
 *	             addresses that the call reads are sent at once, because another thread, or the
 *	             call itself, may change them
 *	sys_exit     the call is sent with its result, and with the memory that it has written
 *
 * No read of a program's memory faults. A call that is not requested costs one look-up.
 */
#include "common.h"

#include "call_regs.h"
#include "calls.h"
#include "slots.h"

#define WAKE_BYTES (1u << 20) /* in the ring: the reader is woken */
#define EFAULT 14
#define SUID_DUMP_USER 1 /* the lowest two bits of the flags of mm_struct */
#define MMF_DUMPABLE 3

const volatile struct calls_settings calls_settings SEC(".rodata.calls") = {};

struct call_slot {
	__u64 since; /* 0: in no call that is requested */
	__u64 args[CALL_ARGS];
	__s32 number;
	__u32 tid;
	__u32 spec; /* index of the map "specs" */
	__u32 sequence;
	__u16 flags;
	__u16 absent; /* bits of arguments whose memory was absent at the begin */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls_cpu);
} cpus SEC(".maps");

static __always_inline struct calls_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline void count_lost(void)
{
	struct calls_cpu *c = this_cpu();

	if (c)
		c->no_slot++;
}

SONDA_SLOTS(struct call_slot)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS_SPECS);
	__type(key, __u32);
	__type(value, struct call_spec);
} specs SEC(".maps");

/* Processes of the config, and the children that they have started since. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALLS_FOLLOWED_MAX);
	__type(key, __u32);
	__type(value, __u8);
} followed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 * 1024 * 1024);
} calls SEC(".maps");

/* The data of read_argument(): a function that the verifier checks only once can take only numbers
 * as arguments. */
struct scratch {
	__u64 args[CALL_ARGS + 2]; /* padded to a power of two */
	__u8 memory[CALL_ARGS + 2];
	__s64 result;
	__u32 is_compat;
	__u32 at; /* bytes of pieces */
	__u32 absent; /* bits of arguments */
	__u32 no_room; /* pieces that found no room */
	struct call_record record;
	__u8 pieces[CALLS_PIECES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *get_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

/* ---- which calls ---- */

static __always_inline int is_recorder_process(__u32 tgid)
{
#pragma unroll
	for (int i = 0; i < CALLS_OWN_MAX; i++)
		if (calls_settings.own[i] && calls_settings.own[i] == tgid)
			return 1;
	return 0;
}

static __always_inline __u64 read_mm_flags(struct mm_struct *mm)
{
	struct mm_struct___before_6_18 *old = (void *)mm;

	if (bpf_core_field_exists(old->flags))
		return old->flags;
	return mm->flags.__mm_flags[0];
}

/* Returns 1 if the user may trace the thread, as ptrace(2) decides: all its ids are those of the
 * user, and it has not executed a program that gives it more rights. */
static __always_inline int may_be_traced_by_user(struct task_struct *t)
{
	const struct cred *c = t->cred;
	struct mm_struct *mm = t->mm;
	__u32 uid = calls_settings.uid;

	return mm && c->uid.val == uid && c->euid.val == uid && c->suid.val == uid &&
	       c->gid.val == c->egid.val && c->gid.val == c->sgid.val &&
	       (read_mm_flags(mm) & MMF_DUMPABLE) == SUID_DUMP_USER;
}

static __always_inline int is_call_recorded(struct task_struct *t)
{
	__u32 tgid = t->tgid;

	if (settings.switches & CALLS_OF_PIDS && !bpf_map_lookup_elem(&followed, &tgid))
		return 0;
	if (is_recorder_process(tgid) || !is_counted(tgid, t) ||
	    !HAS_PROGRAM_NAME(t, calls_settings))
		return 0;
	return !(settings.switches & CALLS_OF_USER) || may_be_traced_by_user(t);
}

/* ---- pieces ---- */

static __always_inline void write_piece_head(struct scratch *m, __u32 at, __u32 arg, __u32 memory,
					     __u32 len, __u32 is_cut)
{
	struct call_piece *p = (void *)&m->pieces[at & (CALLS_PIECES / 2 - 1)];

	p->arg = arg;
	p->memory = memory;
	p->is_cut = is_cut;
	p->unused = 0;
	p->len = len;
	m->at = at + sizeof(*p) + (len + 7) / 8 * 8;
}

/* Returns the place of the next piece, or NULL if there is no room for a long one, which is
 * counted. */
static __always_inline __u8 *reserve_piece(struct scratch *m, __u32 *ret_at)
{
	__u32 at = m->at;

	if (at >= CALLS_PIECES / 2) {
		m->no_room++;
		return NULL;
	}
	*ret_at = at;
	return &m->pieces[(at & (CALLS_PIECES / 2 - 1)) + sizeof(struct call_piece)];
}

/* Adds a string. Reads one byte more than is kept, so that a string of exactly the full length is
 * not mistaken for a cut one. Returns 0, also if there is no room, or -EFAULT. */
static __always_inline int add_string(struct scratch *m, __u32 arg, __u32 memory, __u64 from)
{
	__u32 max = calls_settings.string_max, at = 0;
	__u8 *to = reserve_piece(m, &at);
	long n;

	if (max > CALLS_STRING_MAX)
		max = CALLS_STRING_MAX;
	if (!to)
		return 0;
	n = bpf_probe_read_user_str(to, max + 2, (void *)from);
	if (n < 0)
		return -EFAULT;
	n = n ? n - 1 : 0;
	write_piece_head(m, at, arg, memory, n > max ? max : n, n > max);
	return 0;
}

/* Adds n bytes, but at most max - 1; max is a power of two. Returns 0, also if there is no room, or
 * -EFAULT. */
#define ADD_BYTES(m, arg, what, from, n, max)                                                      \
	({                                                                                         \
		__u32 at_ = 0, n_ = (n), kept_ = n_ >= (max) ? (max)-1 : n_;                       \
		__u8 *to_ = reserve_piece(m, &at_);                                                \
		int r_ = 0;                                                                        \
                                                                                                   \
		kept_ &= (max)-1;                                                                  \
		if (to_ && bpf_probe_read_user(to_, kept_, (void *)(from)) < 0)                    \
			r_ = -EFAULT;                                                              \
		else if (to_)                                                                      \
			write_piece_head(m, at_, arg, what, kept_, n_ > kept_);                    \
		r_;                                                                                \
	})

static __always_inline int add_strings(struct scratch *m, __u32 arg, __u64 from)
{
	__u32 size = m->is_compat ? 4 : 8, begin = m->at;

	for (__u32 i = 0; i < CALLS_STRINGS_MAX; i++) {
		__u64 string = 0;

		if (bpf_probe_read_user(&string, size, (void *)(from + i * size)) < 0)
			return -EFAULT;
		if (!string)
			return 0;
		if (m->at - begin >= CALLS_STRINGS_BYTES)
			break;
		if (add_string(m, arg, CALL_STRINGS, string) < 0)
			return -EFAULT;
	}
	write_piece_head(m, m->at, arg, CALL_STRINGS, 0, 1);
	return 0;
}

static __always_inline int add_socket_address(struct scratch *m, __u32 i, __u64 from)
{
	__u32 len = 0;

	if (bpf_probe_read_user(&len, sizeof(len), (void *)m->args[(i + 1) & 7]) < 0)
		return -EFAULT;
	return len ? ADD_BYTES(m, i, CALL_SOCKADDR_OUT, from, len, 256) : 0;
}

/* Adds the memory at `from`, to which argument i points. Returns 0, or -EFAULT if it is absent. */
static __always_inline int add_memory(struct scratch *m, __u32 i, __u64 from)
{
	__u32 next = (__u32)m->args[(i + 1) & 7];

	switch (m->memory[i]) {
	case CALL_STRING:
		return add_string(m, i, CALL_STRING, from);
	case CALL_STRINGS:
		return add_strings(m, i, from);
	case CALL_SOCKADDR:
		return ADD_BYTES(m, i, CALL_SOCKADDR, from, next, 256);
	case CALL_OPEN_HOW:
		return ADD_BYTES(m, i, CALL_OPEN_HOW, from, 24, 256);
	case CALL_TIMESPEC:
		return m->is_compat ? 0 : ADD_BYTES(m, i, CALL_TIMESPEC, from, 16, 256);
	case CALL_CLONE_ARGS:
		return ADD_BYTES(m, i, CALL_CLONE_ARGS, from, next, 256);
	case CALL_TEXT_OUT:
		return ADD_BYTES(m, i, CALL_TEXT_OUT, from, (__u32)m->result, 4096);
	case CALL_SOCKADDR_OUT:
		return add_socket_address(m, i, from);
	case CALL_FDS_OUT:
		return ADD_BYTES(m, i, CALL_FDS_OUT, from, 8, 256);
	}
	return 0;
}

/* Adds the pieces of an argument; adds none if the memory of the argument is not present. */
__attribute__((noinline)) int read_argument(__u32 argument)
{
	__u32 i = argument & 7;
	struct scratch *m = get_scratch();
	__u32 before;

	if (!m || i >= CALL_ARGS || !m->args[i])
		return 0;
	before = m->at;
	if (add_memory(m, i, m->args[i]) < 0) {
		m->at = before;
		m->absent |= 1u << i;
	}
	return 0;
}

/* Sends the record with its pieces. Returns 0, or a negative value if there is no room. */
static __always_inline long send_record(struct scratch *m, __u32 size)
{
	__u32 n = m->at;
	__u64 wake = bpf_ringbuf_query(&calls, BPF_RB_AVAIL_DATA) > WAKE_BYTES ? BPF_RB_FORCE_WAKEUP
									       : BPF_RB_NO_WAKEUP;

	n &= CALLS_PIECES - 1;
	m->record.head.n_bytes = n;
	if (size == sizeof(struct call_record))
		return bpf_ringbuf_output(&calls, &m->record, sizeof(struct call_record) + n, wake);
	/* This record has no comm: its head goes just before the pieces, in the place of
	 * record.comm. */
	*(struct call_head *)((__u8 *)m->pieces - sizeof(struct call_head)) = m->record.head;
	return bpf_ringbuf_output(&calls, (__u8 *)m->pieces - sizeof(struct call_head),
				  sizeof(struct call_head) + n, wake);
}

/* ---- the begin of a call ---- */

static __always_inline int is_compat_call(struct task_struct *t)
{
	if (settings.switches & SONDA_ON_X86_64)
		return !!(t->thread_info.status & TS_COMPAT);
	return t->thread_info.flags >> TIF_32BIT & 1;
}

#define READ_ARG(to, regs, arch, field)                                                            \
	bpf_core_read(&(to), sizeof(to), &((struct pt_regs___##arch *)(regs))->field)

static __always_inline void read_args(__u64 *args, void *regs, int compat)
{
	if (!(settings.switches & SONDA_ON_X86_64)) {
		READ_ARG(args[0], regs, arm64, orig_x0);
#pragma unroll
		for (int i = 1; i < CALL_ARGS; i++)
			READ_ARG(args[i], regs, arm64, regs[i]);
	} else if (compat) {
		READ_ARG(args[0], regs, x86_64, bx);
		READ_ARG(args[1], regs, x86_64, cx);
		READ_ARG(args[2], regs, x86_64, dx);
		READ_ARG(args[3], regs, x86_64, si);
		READ_ARG(args[4], regs, x86_64, di);
		READ_ARG(args[5], regs, x86_64, bp);
	} else {
		READ_ARG(args[0], regs, x86_64, di);
		READ_ARG(args[1], regs, x86_64, si);
		READ_ARG(args[2], regs, x86_64, dx);
		READ_ARG(args[3], regs, x86_64, r10);
		READ_ARG(args[4], regs, x86_64, r8);
		READ_ARG(args[5], regs, x86_64, r9);
	}
	if (!compat)
		return;
#pragma unroll
	for (int i = 0; i < CALL_ARGS; i++)
		args[i] = (__u32)args[i];
}

static __always_inline void begin_record(struct scratch *m, const struct call_slot *s)
{
#pragma unroll
	for (int i = 0; i < CALL_ARGS; i++)
		m->args[i] = s->args[i];
	m->is_compat = s->flags & CALL_IS_COMPAT;
	m->at = 0;
	m->absent = 0;
	m->no_room = 0;
	m->record.head.tid = s->tid;
	m->record.head.sequence = s->sequence;
}

static __always_inline void send_memory_at_begin(struct task_struct *t, struct call_slot *s,
						 const struct call_spec *spec)
{
	struct scratch *m = get_scratch();
	struct calls_cpu *c = this_cpu();

	if (!m || !c)
		return;
	begin_record(m, s);
#pragma unroll
	for (int i = 0; i < CALL_ARGS; i++) {
		m->memory[i] = spec->memory[i];
		if (spec->memory[i] && spec->memory[i] < CALL_FIRST_OUT)
			read_argument(i);
	}
	s->absent = m->absent;
	c->texts_lost += m->no_room;
	if (!m->at)
		return;
	m->record.head.type = CALL_BEGUN;
	m->record.head.tgid = t->tgid;
	if (send_record(m, sizeof(struct call_head)) < 0)
		c->texts_lost++;
}

static __always_inline __u32 spec_index(long number, int compat)
{
	if (number < 0 || number >= CALLS_NUMBERS)
		return CALLS_OTHER;
	return (__u32)number + (compat ? CALLS_COMPAT : 0);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, void *regs, long number)
{
	struct task_struct *t = bpf_get_current_task_btf();
	int compat = is_compat_call(t);
	__u32 index = spec_index(number, compat);
	struct call_spec *spec = bpf_map_lookup_elem(&specs, &index);
	struct call_slot *s;

	if (!spec || !spec->is_wanted || !is_call_recorded(t))
		return 0;
	s = slot_make(t);
	if (!s)
		return 0;
	read_args(s->args, regs, compat);
	s->number = (__s32)number;
	s->tid = t->pid;
	s->spec = index;
	s->sequence++;
	s->flags = compat ? CALL_IS_COMPAT : 0;
	s->absent = 0;
	if (spec->reads)
		send_memory_at_begin(t, s, spec);
	s->since = bpf_ktime_get_boot_ns();
	return 0;
}

/* ---- the end of a call ---- */

static __always_inline int is_read_at_end(const struct call_slot *s, __u8 memory, __u32 i,
					  __s64 result)
{
	if (memory >= CALL_FIRST_OUT)
		return memory == CALL_TEXT_OUT ? result > 0 : result >= 0;
	return s->absent >> i & 1;
}

static __always_inline void read_memory_at_end(struct scratch *m, struct calls_cpu *c,
					       const struct call_slot *s, __s64 result)
{
	__u32 index = s->spec;
	struct call_spec *spec = bpf_map_lookup_elem(&specs, &index);

	if (!spec || !spec->reads)
		return;
	if (spec->reads & CALL_EXECS && result == 0) {
		c->texts_absent += s->absent != 0;
		return;
	}
	m->result = result;
#pragma unroll
	for (int i = 0; i < CALL_ARGS; i++) {
		m->memory[i] = spec->memory[i];
		if (spec->memory[i] && is_read_at_end(s, spec->memory[i], i, result))
			read_argument(i);
	}
	c->texts_lost += m->no_room;
	c->texts_absent += m->absent != 0;
}

/* Reads which file a descriptor of the thread refers to. Another thread may close it at the same
 * time: no read faults, and the result is then that of some other file or of none. */
static __always_inline void read_opened_file(struct call_record *r, struct task_struct *t, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(t, files, fdt);
	struct file **files, *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	r->inode = BPF_CORE_READ(file, f_inode, i_ino);
	r->dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
}

static __always_inline int has_opened_file(const struct call_slot *s, __s64 result)
{
	__u32 index = s->spec;
	struct call_spec *spec = bpf_map_lookup_elem(&specs, &index);

	return spec && spec->reads & CALL_OPENS && result >= 0;
}

/* Ends the call in the slot: sends its record, with the memory that is read at the end. flags: bits
 * of call_record.flags, in addition to those of the slot. */
static __always_inline void end_call(struct task_struct *t, struct call_slot *s, __s64 result,
				     __u32 flags)
{
	__u64 now = bpf_ktime_get_boot_ns();
	struct scratch *m = get_scratch();
	struct calls_cpu *c = this_cpu();
	struct call_record *r;

	if (!m || !c)
		return;
	begin_record(m, s);
	if (!(flags & CALL_NEVER_RETURNED))
		read_memory_at_end(m, c, s, result);
	r = &m->record;
	r->head.type = CALL_ENDED;
	r->head.tgid = t->tgid;
	r->flags = s->flags | flags;
	r->number = s->number;
	r->since = s->since;
	r->until = now;
	r->result = result;
#pragma unroll
	for (int i = 0; i < CALL_ARGS; i++)
		r->args[i] = s->args[i];
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), t->comm);
	r->inode = 0;
	r->dev = 0;
	if (!(flags & CALL_NEVER_RETURNED) && has_opened_file(s, result))
		read_opened_file(r, t, (__u32)result);
	s->since = 0;
	if (send_record(m, sizeof(struct call_record)) < 0)
		c->ring_full++;
	else
		c->calls++;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, void *regs, long result)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct call_slot *s = slot_get(t);

	if (s && s->since)
		end_call(t, s, result, 0);
	return 0;
}

/* ---- threads and processes ---- */

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_exit, struct task_struct *t)
{
	struct call_slot *s = slot_get(t);

	if (s && s->since)
		end_call(t, s, 0, CALL_NEVER_RETURNED);
	slot_end(t);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	struct calls_cpu *c;
	const __u8 yes = 1;

	if (from == to || !bpf_map_lookup_elem(&followed, &from))
		return 0;
	c = this_cpu();
	if (bpf_map_update_elem(&followed, &to, &yes, BPF_ANY) < 0 && c)
		c->children_lost++;
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *t)
{
	__u32 tgid = t->tgid;

	if (t->pid == t->tgid)
		bpf_map_delete_elem(&followed, &tgid);
	return 0;
}

/* Ends and writes the calls that last past the end of the recording. Their memory was read when
 * they began. */
SEC("iter/task")
int open_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct call_record r = {.flags = CALL_STILL_RUNS};
	struct call_slot *s;

	if (!t)
		return 0;
	s = slot_get(t);
	if (!s || !s->since)
		return 0;
	r.head.type = CALL_ENDED;
	r.head.tid = s->tid;
	r.head.tgid = t->tgid;
	r.head.sequence = s->sequence;
	r.flags |= s->flags;
	r.number = s->number;
	r.since = s->since;
	__builtin_memcpy(r.args, s->args, sizeof(r.args));
	bpf_probe_read_kernel(r.comm, sizeof(r.comm), t->comm);
	s->since = 0;
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

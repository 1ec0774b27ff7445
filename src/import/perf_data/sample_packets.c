/* SPDX-License-Identifier: Apache-2.0 */
/* Records are those of perf_event_open(2). Each is read by its layout there, after its header. */
#include "import/perf_data/sample_packets.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "ftrace/format/unaligned.h"
#include "gen/fields.h"

#define STATE_BEGINS 1 /* of TracePacket.sequence_flags */
#define STATE_NEEDED 2
#define COUNTER_SW_CPU_CLOCK 1 /* of PerfEvents.Counter */
#define COUNTER_HW_CPU_CYCLES 10
#define KERNEL_PID UINT32_MAX
#define THREAD_NAMES_MAX (1u << 18)
#define FIXED_LOAD_END (1ull << 28) /* programs at fixed addresses are mapped below */
#define MISC_MMAP_BUILD_ID (1u << 14)
#define PATH_SIZE 4096
#define NO_TASK UINT32_MAX /* the number of a task that has ended */
#define STATE_SLEEPS 1 /* of sched_switch; 0: it could run on */

struct new_task { /* the fields of a record of FORK */
	uint32_t pid, parent, tid, parent_tid;
};

int sample_packets_init(struct sample_packets *p, struct trace_output *out, uint32_t first_id)
{
	int r = mapped_files_init(&p->files);

	stacks_init(&p->stacks, &p->files, false);
	p->spaces.files = &p->files;
	p->processes = (struct trace_sequence){out, first_id};
	for (unsigned i = 0; i < STACKS_SEQUENCES; i++)
		p->sequences[i] = (struct trace_sequence){out, first_id + 1 + i};
	return r;
}

void sample_packets_deinit(struct sample_packets *p)
{
	stacks_deinit(&p->stacks);
	address_spaces_deinit(&p->spaces);
	mapped_files_deinit(&p->files);
	kernel_names_deinit(&p->names);
	HASH_FREE(p->thread_names);
	free(p->running);
}

/* ---- tasks ---- */

static const char *find_thread_name(const struct sample_packets *p, uint32_t tid)
{
	const int32_t key = (int32_t)tid;
	struct thread_name *t;

	HASH_FIND(hh, p->thread_names, &key, sizeof(key), t);
	return t ? t->comm : "";
}

/* Remembers the name of a thread. Above the limit, or without memory, the thread has none. */
static void set_thread_name(struct sample_packets *p, uint32_t tid, const char *comm)
{
	const int32_t key = (int32_t)tid;
	struct thread_name *t;

	HASH_FIND(hh, p->thread_names, &key, sizeof(key), t);
	if (!t && HASH_COUNT(p->thread_names) < THREAD_NAMES_MAX && (t = calloc(1, sizeof(*t)))) {
		t->tid = key;
		HASH_ADD(hh, p->thread_names, tid, sizeof(key), t);
		if (!t->hh.tbl)
			freep(&t);
	}
	if (t)
		import_copy_text(t->comm, sizeof(t->comm), comm);
}

/* Writes the start of a thread, in a bundle of its own. */
static void put_new_task(struct sample_packets *p, uint64_t time, uint32_t cpu,
			 const struct new_task *task)
{
	struct pb_enc *e = trace_sequence_begin(&p->processes);

	pb_enc_open(e, PB_TRACE_PACKET_FTRACE_EVENTS);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_CPU, cpu);
	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_EVENT);
	pb_enc_u64(e, PB_FTRACE_EVENT_TIMESTAMP, time);
	pb_enc_u64(e, PB_FTRACE_EVENT_PID, task->parent_tid);
	pb_enc_open(e, PB_FTRACE_EVENT_TASK_NEWTASK);
	pb_enc_i64(e, PB_TASK_NEWTASK_FTRACE_EVENT_PID, (int32_t)task->tid);
	pb_enc_str(e, PB_TASK_NEWTASK_FTRACE_EVENT_COMM, find_thread_name(p, task->tid));
	pb_enc_u64(e, PB_TASK_NEWTASK_FTRACE_EVENT_CLONE_FLAGS,
		   task->pid == task->parent ? CLONE_THREAD : 0);
	pb_enc_close(e);
	pb_enc_close(e);
	pb_enc_close(e);
	trace_sequence_end(&p->processes);
}

/* Writes a packet with the names and numbers of one thread. comm "": unknown. */
static void put_thread(struct sample_packets *p, uint64_t time, uint32_t pid, uint32_t tid,
		       const char *comm, uint32_t parent)
{
	struct pb_enc *e = trace_sequence_begin(&p->processes);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, time ? time : p->first_ns);
	pb_enc_open(e, PB_TRACE_PACKET_PROCESS_TREE);
	if (pid == tid) {
		pb_enc_open(e, PB_PROCESS_TREE_PROCESSES);
		pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PID, (int32_t)pid);
		if (parent)
			pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PPID, (int32_t)parent);
		if (*comm) {
			pb_enc_str(e, PB_PROCESS_TREE_PROCESS_CMDLINE, comm);
			pb_enc_bool(e, PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, true);
		}
		pb_enc_close(e);
	}
	pb_enc_open(e, PB_PROCESS_TREE_THREADS);
	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TID, (int32_t)tid);
	if (*comm)
		pb_enc_str(e, PB_PROCESS_TREE_THREAD_NAME, comm);
	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TGID, (int32_t)pid);
	pb_enc_close(e);
	pb_enc_close(e);
	trace_sequence_end(&p->processes);
}

static void handle_comm(struct sample_packets *p, uint64_t time, uint16_t misc,
			struct byte_reader *r)
{
	uint32_t pid = byte_reader_u32(r), tid = byte_reader_u32(r);
	char text[64], comm[16];

	byte_reader_string(r, text, sizeof(text));
	if (r->failed)
		return;
	import_copy_text(comm, sizeof(comm), text);
	set_thread_name(p, tid, comm);
	put_thread(p, time, pid, tid, comm, 0);
	if (misc & PERF_RECORD_MISC_COMM_EXEC)
		address_spaces_exec(&p->spaces, (int32_t)pid);
}

static void handle_fork(struct sample_packets *p, uint64_t time, const uint8_t *record, size_t len,
			struct byte_reader *r)
{
	struct perf_record_end end = perf_record_end_read(p->attrs, record, len);
	struct new_task t;

	byte_reader_number(r, &t, sizeof(t));
	if (r->failed)
		return;
	if (!time) { /* perf found the task when it began */
		put_thread(p, time, t.pid, t.tid, "", t.pid == t.parent ? 0 : t.parent);
		return;
	}
	set_thread_name(p, t.tid, find_thread_name(p, t.parent_tid));
	if (!p->has_newtask)
		put_new_task(p, time, end.cpu, &t);
	if (t.pid != t.parent)
		address_spaces_fork(&p->spaces, (int32_t)t.parent, (int32_t)t.pid);
}

static void handle_exit(struct sample_packets *p, struct byte_reader *r)
{
	uint32_t pid = byte_reader_u32(r), tid;

	byte_reader_u32(r);
	tid = byte_reader_u32(r);
	if (!r->failed && pid == tid)
		address_spaces_exit(&p->spaces, (int32_t)pid);
}

/* ---- context switches ---- */

static void put_comm_of_switch(const struct sample_packets *p, struct pb_enc *e, uint32_t field,
			       uint32_t tid, uint32_t cpu)
{
	char idle[16];

	snprintf(idle, sizeof(idle), "swapper/%u", cpu);
	pb_enc_str(e, field, tid ? find_thread_name(p, tid) : idle);
}

/* Writes a switch, in a bundle of its own. */
static void put_switch(struct sample_packets *p, const struct perf_record_end *end, uint32_t prev,
		       uint32_t next, bool is_preempted)
{
	struct pb_enc *e = trace_sequence_begin(&p->processes);

	pb_enc_open(e, PB_TRACE_PACKET_FTRACE_EVENTS);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_CPU, end->cpu);
	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_EVENT);
	pb_enc_u64(e, PB_FTRACE_EVENT_TIMESTAMP, end->time);
	pb_enc_u64(e, PB_FTRACE_EVENT_PID, prev);
	pb_enc_open(e, PB_FTRACE_EVENT_SCHED_SWITCH);
	put_comm_of_switch(p, e, PB_SCHED_SWITCH_FTRACE_EVENT_PREV_COMM, prev, end->cpu);
	pb_enc_i64(e, PB_SCHED_SWITCH_FTRACE_EVENT_PREV_PID, (int32_t)prev);
	pb_enc_i64(e, PB_SCHED_SWITCH_FTRACE_EVENT_PREV_STATE,
		   is_preempted || !prev ? 0 : STATE_SLEEPS);
	put_comm_of_switch(p, e, PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_COMM, next, end->cpu);
	pb_enc_i64(e, PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_PID, (int32_t)next);
	pb_enc_close(e);
	pb_enc_close(e);
	pb_enc_close(e);
	trace_sequence_end(&p->processes);
	p->n_switches++;
}

/* Each switch has two records: one when the old task stops (OUT), with the new task, and one when
 * the new task begins. The first is enough, except that a task that ends has no number any more
 * then: it is the one that began last on this CPU. */
static int handle_switch(struct sample_packets *p, uint16_t misc, const uint8_t *record, size_t len,
			 struct byte_reader *r)
{
	struct perf_record_end end = perf_record_end_read(p->attrs, record, len);
	uint32_t next = (byte_reader_u32(r), byte_reader_u32(r)), prev = end.tid, *running;

	if (p->has_switches)
		return 0;
	if (r->failed || !end.has_cpu || end.cpu >= SWITCH_CPUS_MAX || !end.time) {
		p->result->n_unread++;
		return 0;
	}
	if (!p->running)
		p->running = calloc(SWITCH_CPUS_MAX, sizeof(*p->running));
	if (!p->running)
		return -ENOMEM;
	running = &p->running[end.cpu];
	if (!(misc & PERF_RECORD_MISC_SWITCH_OUT)) {
		*running = end.tid;
		return 0;
	}
	if (prev == NO_TASK)
		prev = *running;
	if (next != NO_TASK)
		put_switch(p, &end, prev, next, misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	*running = next;
	return 0;
}

/* ---- mappings ---- */

/* Reads the names of the kernel's functions, if path is like "[kernel.kallsyms]_text": the mapping
 * then has the address of that symbol. */
static int add_kernel_mapping(struct sample_packets *p, const char *path, uint64_t address)
{
	const char *end = strchr(path, ']');
	struct recorded_kernel kernel = {.address = address, .release = p->facts->machine.release};
	const struct perf_build_id *id;

	if (strncmp(path, "[kernel", 7) != 0 || !end || p->has_names)
		return 0;
	p->has_names = true;
	kernel.symbol = end + 1;
	id = perf_facts_find_build_id(p->facts, "[kernel.kallsyms]");
	if (id) {
		kernel.build_id = id->bytes;
		kernel.n_build_id = id->len;
	}
	return kernel_names_init(&p->names, p->source, &kernel);
}

/* Describes the file of a new mapping: its build id, and for a program at a fixed address the
 * difference between addresses and offsets. */
static void describe_file(struct sample_packets *p, const struct file_mapping *m, uint32_t number,
			  const struct perf_build_id *id)
{
	struct mapped_file *f = &p->files.items[number];
	bool is_fixed = m->start < FIXED_LOAD_END && m->start >= m->offset;

	if (f->elf || number < MAPPED_FILES_FIRST)
		return;
	if (!id)
		id = perf_facts_find_build_id(p->facts, f->path);
	if (!id && !is_fixed)
		return;
	f->elf = calloc(1, sizeof(*f->elf));
	if (!f->elf)
		return;
	if (id) {
		memcpy(f->elf->build_id, id->bytes, id->len);
		f->elf->n_build_id = id->len;
	}
	if (is_fixed)
		f->elf->segments[f->elf->n_segments++] = (struct elf_segment){
			.offset = m->offset, .size = m->end - m->start, .address = m->start};
}

static int handle_mapping(struct sample_packets *p, uint32_t type, uint16_t misc,
			  struct byte_reader *r)
{
	uint32_t pid = byte_reader_u32(r);
	struct perf_build_id id = {.len = 0};
	struct address_space *a;
	struct file_mapping m = {.start = (byte_reader_u32(r), byte_reader_u64(r))};
	uint64_t len = byte_reader_u64(r);
	char path[PATH_SIZE];

	m.offset = byte_reader_u64(r);
	m.inode = 1; /* a record of MMAP has none */
	if (type == PERF_RECORD_MMAP2 && misc & MISC_MMAP_BUILD_ID) {
		id.len = byte_reader_u8(r);
		byte_reader_read(r, 3);
		byte_reader_number(r, id.bytes, sizeof(id.bytes));
	} else if (type == PERF_RECORD_MMAP2) {
		m.major = byte_reader_u32(r);
		m.minor = byte_reader_u32(r);
		m.inode = byte_reader_u64(r);
		m.generation = (uint32_t)byte_reader_u64(r);
	}
	if (type == PERF_RECORD_MMAP2)
		byte_reader_u64(r); /* protection, flags */
	byte_reader_string(r, path, sizeof(path));
	m.end = m.start + len;
	if (r->failed || m.end <= m.start || id.len > PERF_BUILD_ID_MAX)
		return 0;
	if (pid == KERNEL_PID)
		return add_kernel_mapping(p, path, m.offset);
	m.path_len = (uint32_t)strlen(path);
	if (!m.inode)
		m.offset = 0;
	a = address_spaces_get(&p->spaces, (int32_t)pid);
	if (a && !a->is_known)
		address_spaces_exec(&p->spaces, (int32_t)pid);
	a = address_spaces_get(&p->spaces, (int32_t)pid);
	if (!a)
		return -ENOMEM;
	address_space_add_mapping(&p->spaces, a, &m, path);
	if (address_space_find_mapping(a, m.start))
		describe_file(p, &m, address_space_find_mapping(a, m.start)->file,
			      id.len ? &id : NULL);
	return 0;
}

/* ---- stacks ---- */

/* Adds a frame of the kernel. A function without a name gets its address as name. */
static int add_kernel_frame(struct sample_packets *p, uint64_t address)
{
	char name[SYMBOL_TABLE_NAME_MAX + 1];
	size_t len = kernel_names_find(&p->names, address, name);

	if (!len)
		len = (size_t)snprintf(name, sizeof(name), "0x%llx", (unsigned long long)address);
	return stacks_add_kernel_frame(&p->stacks, name, len);
}

static int add_user_frame(struct sample_packets *p, uint32_t pid, uint64_t address)
{
	const struct address_space *a = address_spaces_get(&p->spaces, (int32_t)pid);
	const struct process_mapping *m = a ? address_space_find_mapping(a, address) : NULL;

	return m ? stacks_add_user_frame(&p->stacks, m, address)
		 : stacks_add_unknown_frame(&p->stacks);
}

/* Resolves the addresses, the innermost first, in sections of the kernel and the program. A
 * caller's address is that behind the call, so one less is in the call. Returns the stack's number
 * + 1; 0: there is none; or -ENOMEM. */
static int add_stack(struct sample_packets *p, const struct perf_sample *s, unsigned mode)
{
	uint32_t frames[SAMPLE_FRAMES_MAX], n = 0, turned;
	bool in_kernel = mode == PERF_RECORD_MISC_KERNEL, is_innermost = true;
	uint64_t count = s->callchain ? s->n_callchain : 1, address;
	int number;

	for (uint64_t i = 0; i < count; i++) {
		address = s->callchain ? load64(s->callchain + 8 * i) : s->ip;
		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			in_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
			is_innermost = true;
			continue;
		}
		if (n == SAMPLE_FRAMES_MAX) {
			p->n_cut++;
			break;
		}
		address -= is_innermost || !address ? 0 : 1;
		is_innermost = false;
		number = in_kernel ? add_kernel_frame(p, address)
				   : add_user_frame(p, s->pid, address);
		if (number < 0)
			return number;
		frames[n++] = (uint32_t)number;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		turned = frames[i];
		frames[i] = frames[n - 1 - i];
		frames[n - 1 - i] = turned;
	}
	number = n ? stacks_add_stack(&p->stacks, frames, n) : -1;
	return n && number < 0 ? number : number + 1;
}

/* ---- samples ---- */

static void put_timebase(const struct perf_event *event, struct pb_enc *e)
{
	const struct perf_event_attr *a = &event->attr;

	pb_enc_open(e, PB_PERF_SAMPLE_DEFAULTS_TIMEBASE);
	pb_enc_u64(e, a->freq ? PB_PERF_EVENTS_TIMEBASE_FREQUENCY : PB_PERF_EVENTS_TIMEBASE_PERIOD,
		   a->sample_freq);
	if (a->type == PERF_TYPE_TRACEPOINT) {
		pb_enc_open(e, PB_PERF_EVENTS_TIMEBASE_TRACEPOINT);
		pb_enc_str(e, PB_PERF_EVENTS_TRACEPOINT_NAME, event->name);
		pb_enc_close(e);
	} else if (a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_CPU_CLOCK) {
		pb_enc_u64(e, PB_PERF_EVENTS_TIMEBASE_COUNTER, COUNTER_SW_CPU_CLOCK);
	} else if (a->type == PERF_TYPE_HARDWARE && a->config == PERF_COUNT_HW_CPU_CYCLES) {
		pb_enc_u64(e, PB_PERF_EVENTS_TIMEBASE_COUNTER, COUNTER_HW_CPU_CYCLES);
	} else {
		pb_enc_open(e, PB_PERF_EVENTS_TIMEBASE_RAW_EVENT);
		pb_enc_u64(e, PB_PERF_EVENTS_RAW_EVENT_TYPE, a->type);
		pb_enc_u64(e, PB_PERF_EVENTS_RAW_EVENT_CONFIG, a->config);
		pb_enc_close(e);
	}
	if (*event->name)
		pb_enc_str(e, PB_PERF_EVENTS_TIMEBASE_NAME, event->name);
	pb_enc_close(e);
}

/* Begins the incremental state of the selected sequence. */
static void begin_state(struct sample_packets *p, struct perf_event *event, uint64_t time)
{
	struct trace_sequence *s = &p->sequences[p->stacks.sequence];
	struct pb_enc *e = trace_sequence_begin(s);

	p->events[p->stacks.sequence] = event;
	stacks_clear_written(&p->stacks);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, time);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_BEGINS);
	pb_enc_open(e, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	pb_enc_open(e, PB_TRACE_PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS);
	put_timebase(event, e);
	pb_enc_close(e);
	pb_enc_close(e);
	trace_sequence_end(s);
}

/* Selects and returns the sequence of the event's samples. Begins its state if it has none. */
static struct trace_sequence *select_sequence(struct sample_packets *p, struct perf_event *event,
					      uint64_t time)
{
	unsigned i = !p->events[0] || p->events[0] == event ? 0 : 1;

	p->stacks.sequence = i;
	if (!p->events[i])
		begin_state(p, event, time);
	else if (p->events[i] != event)
		import_add_note(p->result, "the samples of all events except %s share one sequence",
				*p->events[0]->name ? p->events[0]->name : "the first one");
	return &p->sequences[i];
}

/* Empties the tables of stacks when they are full. Both sequences begin a new state. */
static void reset_full_stacks(struct sample_packets *p, uint64_t time)
{
	if (!stacks_is_full(&p->stacks))
		return;
	stacks_reset(&p->stacks);
	for (unsigned i = 0; i < STACKS_SEQUENCES; i++) {
		p->stacks.sequence = i;
		if (p->events[i])
			begin_state(p, p->events[i], time);
	}
}

static int put_sample(struct sample_packets *p, uint16_t misc, const uint8_t *record, size_t len)
{
	unsigned mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct trace_sequence *sequence;
	struct perf_sample s;
	struct pb_enc *e;
	int stack;

	if (!perf_sample_read(p->attrs, record, len, &s))
		return 0; /* counted when it was queued */
	reset_full_stacks(p, s.time);
	sequence = select_sequence(p, s.event, s.time);
	stack = add_stack(p, &s, mode);
	if (stack < 0)
		return stack;
	s.event->count += s.period;
	e = trace_sequence_begin(sequence);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, s.time);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
	if (stack && !stacks_has_written(&p->stacks, (uint32_t)stack - 1)) {
		pb_enc_open(e, PB_TRACE_PACKET_INTERNED_DATA);
		stacks_write_interned(&p->stacks, (uint32_t)stack - 1, e);
		pb_enc_close(e);
	}
	pb_enc_open(e, PB_TRACE_PACKET_PERF_SAMPLE);
	if (s.has_cpu)
		pb_enc_u64(e, PB_PERF_SAMPLE_CPU, s.cpu);
	pb_enc_u64(e, PB_PERF_SAMPLE_PID, s.pid);
	pb_enc_u64(e, PB_PERF_SAMPLE_TID, s.tid);
	pb_enc_u64(e, PB_PERF_SAMPLE_CPU_MODE, MIN(mode, 5u));
	pb_enc_u64(e, PB_PERF_SAMPLE_TIMEBASE_COUNT, s.event->count);
	if (stack)
		pb_enc_u64(e, PB_PERF_SAMPLE_CALLSTACK_IID, (uint32_t)stack);
	pb_enc_close(e);
	trace_sequence_end(sequence);
	p->result->n_samples++;
	return 0;
}

void sample_packets_put_lost(struct sample_packets *p, const struct perf_record_end *end,
			     uint64_t time, uint64_t n)
{
	struct trace_sequence *s;
	struct pb_enc *e;

	if (!p->attrs->n_events)
		return;
	s = select_sequence(p, p->events[0] ? p->events[0] : p->attrs->events, time);
	e = trace_sequence_begin(s);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, time);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
	pb_enc_open(e, PB_TRACE_PACKET_PERF_SAMPLE);
	if (end->has_cpu)
		pb_enc_u64(e, PB_PERF_SAMPLE_CPU, end->cpu);
	pb_enc_u64(e, PB_PERF_SAMPLE_KERNEL_RECORDS_LOST, n);
	pb_enc_close(e);
	trace_sequence_end(s);
}

int sample_packets_handle_record(struct sample_packets *p, uint64_t time, const uint8_t *record,
				 size_t len)
{
	struct byte_reader r = byte_reader_make(record, len);
	uint32_t type = byte_reader_u32(&r);
	uint16_t misc = byte_reader_u16(&r);

	byte_reader_u16(&r);
	switch (type) {
	case PERF_RECORD_COMM:
		handle_comm(p, time, misc, &r);
		return 0;
	case PERF_RECORD_FORK:
		handle_fork(p, time, record, len, &r);
		return 0;
	case PERF_RECORD_EXIT:
		handle_exit(p, &r);
		return 0;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return handle_switch(p, misc, record, len, &r);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return handle_mapping(p, type, misc, &r);
	case PERF_RECORD_SAMPLE:
		return put_sample(p, misc, record, len);
	default:
		return 0;
	}
}

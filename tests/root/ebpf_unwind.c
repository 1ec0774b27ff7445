/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: ebpf_unwind OBJECT         samples or samples_calls
 *        ebpf_unwind --run PROGRAM  runs the first case with the program of that descriptor attached
 *
 * The unwinder of bpf/unwind.h, as samples.bpf.c has it, in this kernel: functions in assembly, whose frames and rows are
 * written here side by side, are sampled. Prints a line for each case, and fails if one has a wrong stack.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "bpf/samples.h"
#include "bpf/settings.h"
#include "bpf/unwind.h"
#include "ebpf/engine/images.h"

#if !defined(__x86_64__)
int main(void)
{
	return 77; /* other architectures have the kernel's walk */
}
#else

EBPF_DECLARE(samples);
EBPF_DECLARE(samples_calls);
static const struct ebpf_image images[] = {EBPF_IMAGE(samples), EBPF_IMAGE(samples_calls)};

/* Each function gets the number of loops in rdi and the function to call in rsi. Labels L_... are
 * return addresses. */
__asm__(".pushsection .text.known, \"ax\", @progbits\n"
	".balign 4096\n"
	".global known_begin\n"
	"known_begin:\n"

	/* the outermost function: it calls rdx */
	".global known_start\n"
	"known_start:\n"
	"	push %rbp\n"
	"	mov $0x5eed, %ebp\n"
	"	call *%rdx\n"
	"L_start:\n"
	"	pop %rbp\n"
	"	ret\n"

	/* a function without a frame, which takes time */
	"known_leaf:\n"
	"	dec %rdi\n"
	"	jnz known_leaf\n"
	"known_leaf_end:\n"
	"	ret\n"

	/* CFA by sp; rbp is saved and then holds a number */
	"known_sp:\n"
	"	push %rbp\n"
	"known_sp_1:\n"
	"	sub $32, %rsp\n"
	"known_sp_2:\n"
	"	mov $12345, %ebp\n"
	"	call *%rsi\n"
	"L_sp:\n"
	"	add $32, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"

	/* CFA by the frame pointer, which the function that it calls saves */
	"known_fp:\n"
	"	push %rbp\n"
	"known_fp_1:\n"
	"	mov %rsp, %rbp\n"
	"known_fp_2:\n"
	"	sub $100, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %rsi, %rax\n"
	"	lea known_leaf(%rip), %rsi\n"
	"	call *%rax\n"
	"L_fp:\n"
	"	leave\n"
	"known_fp_3:\n"
	"	ret\n"

	/* a realigned stack as gcc makes it: the CFA is saved at rbp - 8 */
	"known_realigned:\n"
	"	lea 8(%rsp), %r10\n"
	"	and $-64, %rsp\n"
	"	push -8(%r10)\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %r10\n"
	"known_realigned_1:\n"
	"	sub $200, %rsp\n"
	"	mov %rsi, %rax\n"
	"	lea known_leaf(%rip), %rsi\n"
	"	call *%rax\n"
	"L_realigned:\n"
	"	mov -8(%rbp), %r10\n"
	"	leave\n"
	"	lea -8(%r10), %rsp\n"
	"	ret\n"

	/* no rows, with a frame pointer: as compiled at run time */
	"known_rowless:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $48, %rsp\n"
	"	call *%rsi\n"
	"L_rowless:\n"
	"	leave\n"
	"	ret\n"

	/* no rows and no frame pointer */
	"known_frameless:\n"
	"	push %rbp\n"
	"	mov $0xdead, %ebp\n"
	"	call *%rsi\n"
	"L_frameless:\n"
	"	pop %rbp\n"
	"	ret\n"

	/* no rows; the frame points at itself, and returns to itself */
	"known_cycle:\n"
	"	push %rbp\n"
	"	sub $16, %rsp\n"
	"	mov %rsp, %rbp\n"
	"	mov %rbp, (%rbp)\n"
	"	lea L_cycle(%rip), %rax\n"
	"	mov %rax, 8(%rbp)\n"
	"	call *%rsi\n"
	"L_cycle:\n"
	"	add $16, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"

	/* the rows are wrong: the CFA is below the frame */
	"known_forged:\n"
	"	sub $8, %rsp\n"
	"known_forged_1:\n"
	"	call *%rsi\n"
	"L_forged:\n"
	"	add $8, %rsp\n"
	"	ret\n"

	/* calls itself 600 times */
	"known_deep:\n"
	"	mov $600, %eax\n"
	"known_again:\n"
	"	push %rax\n"
	"known_again_1:\n"
	"	dec %eax\n"
	"	jz 1f\n"
	"	call known_again\n"
	"L_deep:\n"
	"	jmp 2f\n"
	"1:	call *%rsi\n"
	"L_deepest:\n"
	"2:	pop %rax\n"
	"known_again_2:\n"
	"	ret\n"

	/* the call is the last instruction: the address behind it is in another function, with other rows */
	"known_last_call:\n"
	"	sub $24, %rsp\n"
	"known_last_call_1:\n"
	"	call known_no_return\n"
	"known_other:\n"
	"	ret\n"
	"known_no_return:\n"
	"	dec %rdi\n"
	"	jnz known_no_return\n"
	"known_no_return_end:\n"
	"	add $32, %rsp\n"
	"	ret\n"

	/* an entry of .plt: before and behind its second instruction */
	".balign 16\n"
	"known_plt:\n"
	"	mov %rdi, %rax\n" /* 3 bytes */
	"1:	dec %rdi\n" /* 3 */
	"	jnz 1b\n" /* 2 */
	"	nop\n"
	"	push $0\n" /* 2: ends at 11 */
	"known_plt_pushed:\n"
	"1:	dec %rax\n" /* 3 */
	"	jnz 1b\n" /* 2: ends at 16 */
	"known_plt_end:\n"
	"	add $8, %rsp\n"
	"	ret\n"

	/* a signal interrupts the first instruction of a function */
	"known_calls_trap:\n"
	"	push %rbp\n"
	"known_calls_trap_1:\n"
	"	call known_trap\n"
	"L_calls_trap:\n"
	"	pop %rbp\n"
	"	ret\n"
	"known_trap:\n"
	"	ud2\n"
	"	ret\n"
	/* the handler: of rdx, the ucontext, rdi and rip are saved at 104 and 168 */
	".global known_handler\n"
	"known_handler:\n"
	"	mov 104(%rdx), %rdi\n"
	"known_handler_loop:\n"
	"	dec %rdi\n"
	"	jnz known_handler_loop\n"
	"known_handler_end:\n"
	"	addq $2, 168(%rdx)\n"
	"	ret\n"
	/* its rows begin before it, as those of the C library, since callers are looked up by the call */
	"	nop\n"
	".global known_restore\n"
	"known_restore:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	"known_end:\n"
	".popsection\n");

#define LABEL(name) extern const char name[]
LABEL(known_begin);
LABEL(known_end);
LABEL(L_start);
LABEL(known_leaf);
LABEL(known_leaf_end);
LABEL(known_sp);
LABEL(known_sp_1);
LABEL(known_sp_2);
LABEL(L_sp);
LABEL(known_fp);
LABEL(known_fp_1);
LABEL(known_fp_2);
LABEL(L_fp);
LABEL(known_fp_3);
LABEL(known_realigned);
LABEL(known_realigned_1);
LABEL(L_realigned);
LABEL(known_rowless);
LABEL(L_rowless);
LABEL(known_frameless);
LABEL(L_frameless);
LABEL(known_cycle);
LABEL(L_cycle);
LABEL(known_forged);
LABEL(known_forged_1);
LABEL(L_forged);
LABEL(known_deep);
LABEL(known_again);
LABEL(known_again_1);
LABEL(L_deep);
LABEL(L_deepest);
LABEL(known_again_2);
LABEL(known_last_call);
LABEL(known_last_call_1);
LABEL(known_other);
LABEL(known_no_return);
LABEL(known_no_return_end);
LABEL(known_plt);
LABEL(known_plt_pushed);
LABEL(known_plt_end);
LABEL(known_calls_trap);
LABEL(known_calls_trap_1);
LABEL(L_calls_trap);
LABEL(known_trap);
LABEL(known_handler);
LABEL(known_handler_loop);
LABEL(known_handler_end);
LABEL(known_restore);
extern void known_start(long loops, const char *callee, const char *function);

#define BY_SP(offset)                                                                              \
	.base = UNWIND_BASE_SP, .cfa_offset = (offset), .ra = UNWIND_AT_CFA, .ra_offset = -8
#define BY_FP(offset)                                                                              \
	.base = UNWIND_BASE_FP, .cfa_offset = (offset), .ra = UNWIND_AT_CFA, .ra_offset = -8
#define SAVED_FP(offset) .fp = UNWIND_AT_CFA, .fp_offset = (offset)

/* Numbers of rules from UNWIND_RULES_FIRST on. */
enum {
	RULE_LEAF = UNWIND_RULES_FIRST,
	RULE_16,
	RULE_32,
	RULE_PUSHED_FP,
	RULE_SP,
	RULE_FP,
	RULE_REALIGNED,
	RULE_FORGED,
	RULE_PLT
};
static const struct unwind_rule rules[] = {
	[RULE_LEAF] = {BY_SP(8)},
	[RULE_16] = {BY_SP(16)},
	[RULE_32] = {BY_SP(32)},
	[RULE_PUSHED_FP] = {BY_SP(16), SAVED_FP(-16)},
	[RULE_SP] = {BY_SP(48), SAVED_FP(-16)},
	[RULE_FP] = {BY_FP(16), SAVED_FP(-16)},
	[RULE_REALIGNED] = {.base = UNWIND_BASE_AT_FP,
			    .cfa_offset = -8,
			    .ra = UNWIND_AT_CFA,
			    .ra_offset = -8,
			    .fp = UNWIND_AT_FP,
			    .fp_offset = 0},
	[RULE_FORGED] = {BY_SP(-64)},
	[RULE_PLT] = {.base = UNWIND_BASE_PLT,
		      .cfa_offset = 11,
		      .ra = UNWIND_AT_CFA,
		      .ra_offset = -8},
};

/* In the order of addresses. */
static const struct {
	const char *from;
	uint16_t rule;
} rows[] = {
	{known_begin, UNWIND_END},
	{known_leaf, RULE_LEAF},
	{known_sp, RULE_LEAF},
	{known_sp_1, RULE_PUSHED_FP},
	{known_sp_2, RULE_SP},
	{known_fp, RULE_LEAF},
	{known_fp_1, RULE_PUSHED_FP},
	{known_fp_2, RULE_FP},
	{known_fp_3, RULE_LEAF},
	{known_realigned, UNWIND_NO_RULE},
	{known_realigned_1, RULE_REALIGNED},
	{known_rowless, UNWIND_NO_RULE},
	{known_forged, RULE_LEAF},
	{known_forged_1, RULE_FORGED},
	{known_deep, RULE_LEAF}, /* from known_again_1 on the CFA is 8 bytes further */
	{known_again_2, RULE_LEAF},
	{known_last_call_1, RULE_32},
	{known_other, RULE_LEAF},
	{known_plt, RULE_PLT},
	{known_plt_end, RULE_16},
	{known_calls_trap, RULE_LEAF},
	{known_calls_trap_1, RULE_PUSHED_FP},
	{known_trap, RULE_LEAF},
	{known_handler, RULE_LEAF},
	{known_restore - 1, UNWIND_SIGNAL},
};

#define CALLERS_MAX 8
static const struct known_case {
	const char *name;
	const char *function, *callee; /* rdx, rsi of known_start */
	const char *from, *to; /* samples in this range are checked */
	int error;
	const char *callers
		[CALLERS_MAX]; /* return addresses, without their minus 1; exact ones have "exact" before */
	unsigned n_frames; /* instead of callers */
} cases[] = {
	{"CFA by sp, rbp used for a number",
	 known_sp,
	 known_leaf,
	 known_leaf,
	 known_leaf_end,
	 0,
	 {L_sp, L_start},
	 0},
	{"CFA by rbp, restored by the callee",
	 known_fp,
	 known_sp,
	 known_leaf,
	 known_leaf_end,
	 0,
	 {L_sp, L_fp, L_start},
	 0},
	{"a realigned stack",
	 known_realigned,
	 known_sp,
	 known_leaf,
	 known_leaf_end,
	 0,
	 {L_sp, L_realigned, L_start},
	 0},
	{"code without rows, with frame pointers",
	 known_rowless,
	 known_leaf,
	 known_leaf,
	 known_leaf_end,
	 0,
	 {L_rowless, L_start},
	 0},
	{"code without rows and frame pointers",
	 known_frameless,
	 known_leaf,
	 known_leaf,
	 known_leaf_end,
	 UNWIND_NO_ROWS,
	 {L_frameless},
	 0},
	{"a frame that points at itself",
	 known_cycle,
	 known_leaf,
	 known_leaf,
	 known_leaf_end,
	 UNWIND_NO_ROWS,
	 {L_cycle, L_cycle},
	 0},
	{"rows that go down the stack",
	 known_forged,
	 known_leaf,
	 known_leaf,
	 known_leaf_end,
	 UNWIND_REPEATED,
	 {L_forged},
	 0},
	{"600 frames",
	 known_deep,
	 known_leaf,
	 known_leaf,
	 known_leaf_end,
	 UNWIND_TOO_DEEP,
	 {0},
	 UNWIND_FRAMES_MAX},
	{"a call at the end of a function",
	 known_last_call,
	 NULL,
	 known_no_return,
	 known_no_return_end,
	 0,
	 {known_other, L_start},
	 0},
	{"an entry of .plt before its push",
	 known_plt,
	 NULL,
	 known_plt + 3,
	 known_plt + 8,
	 0,
	 {L_start},
	 0},
	{"an entry of .plt behind its push",
	 known_plt,
	 NULL,
	 known_plt_pushed,
	 known_plt_end,
	 0,
	 {L_start},
	 0},
	{"a signal at the first instruction of a function",
	 known_calls_trap,
	 NULL,
	 known_handler_loop,
	 known_handler_end,
	 0,
	 {known_restore, known_trap + 1, L_calls_trap, L_start},
	 0},
};

static const struct known_case *current;
static unsigned n_good, n_bad;
static uint32_t other_pid; /* its stacks are at other addresses; 0: none */

static void print_bad(const struct stack_sample *s)
{
	printf("# error %u, by the kernel %u:", s->error, s->is_by_kernel);
	for (uint32_t i = 0; i < s->n_user && i < CALLERS_MAX; i++)
		printf(" %+ld", (long)(s->addresses[s->n_kernel + i] - (uint64_t)known_begin));
	printf("; expected error %d:", current->error);
	for (int i = 0; i < CALLERS_MAX && current->callers[i]; i++)
		printf(" %+ld", (long)(current->callers[i] - known_begin - 1));
	printf("\n");
}

static int on_sample(void *ctx, void *data, size_t size)
{
	const struct stack_sample *s = data;
	const __u64 *user = s->addresses + s->n_kernel;
	uint32_t n = current->n_frames ? current->n_frames : 1;
	bool good;

	(void)ctx;
	if (other_pid) {
		good = s->n_user == 3 && s->error == 0 && !s->is_by_kernel;
		n_good += s->pid == other_pid && s->is_user && good;
		return 0;
	}
	if (size < offsetof(struct stack_sample, addresses) || !s->n_user ||
	    user[0] < (uint64_t)current->from || user[0] >= (uint64_t)current->to)
		return 0;
	while (!current->n_frames && n <= CALLERS_MAX && current->callers[n - 1])
		n++;
	good = s->n_user == n && s->error == current->error && !s->is_by_kernel;
	for (uint32_t i = 1; good && !current->n_frames && i < n; i++)
		good = user[i] == (uint64_t)current->callers[i - 1] - 1;
	if (!good && !n_bad)
		print_bad(s);
	n_good += good;
	n_bad += !good;
	return 0;
}

static int map_of(const struct bpf_object *o, const char *name)
{
	const struct bpf_map *m = bpf_object__find_map_by_name(o, name);

	return m ? bpf_map__fd(m) : -1;
}

/* The file of this program. Its rows are those of the page of known_begin and the next ones. */
static int describe_file(struct unwind_file_key *ret_key, struct unwind_file *ret)
{
	unsigned long start, end, offset;
	FILE *f = fopen("/proc/self/maps", "r");
	struct stat st;
	char line[512];

	if (!f || stat("/proc/self/exe", &st) < 0)
		return -1;
	do
		if (!fgets(line, sizeof(line), f) ||
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3)
			return -1;
	while ((unsigned long)known_begin < start || (unsigned long)known_begin >= end);
	fclose(f);
	*ret_key = (struct unwind_file_key){
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed_s = (uint64_t)st.st_ctim.tv_sec,
		.changed_ns = (uint32_t)st.st_ctim.tv_nsec,
		.device = major(st.st_dev) << 20 | minor(st.st_dev),
	};
	*ret = (struct unwind_file){.n_rows = ARRAY_SIZE(rows)};
	ret->segments[0].offset = offset;
	ret->segments[0].end = offset + (end - start);
	ret->segments[0].bias = start - offset - (unsigned long)known_begin;
	return 0;
}

static int fill_tables(const struct bpf_object *o)
{
	struct unwind_state state = {.page_shift = 12};
	struct unwind_file_key key;
	struct unwind_file file;
	uint32_t zero = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unwind_row row = {.address = (uint32_t)(rows[i].from - known_begin),
					 .rule = rows[i].rule};

		if (rows[i].from == known_deep) {
			row.next = (uint8_t)(known_again_1 - known_deep);
			row.step = 1;
		}

		if (bpf_map_update_elem(map_of(o, "unwind_rows"), &i, &row, BPF_ANY) < 0)
			return -1;
	}
	for (uint32_t i = UNWIND_RULES_FIRST; i < ARRAY_SIZE(rules); i++)
		if (bpf_map_update_elem(map_of(o, "unwind_rules"), &i, &rules[i], BPF_ANY) < 0)
			return -1;
	return describe_file(&key, &file) < 0 ||
			       bpf_map_update_elem(map_of(o, "unwind_files"), &key, &file,
						   BPF_ANY) < 0 ||
			       bpf_map_update_elem(map_of(o, "unwind_state"), &zero, &state,
						   BPF_ANY) < 0
		       ? -1
		       : 0;
}

static struct bpf_object *load(const char *name)
{
	struct sonda_settings s = {.switches = SONDA_ON_X86_64 | SAMPLES_USER};
	const struct ebpf_image *image = &images[strcmp(name, images[0].name) != 0];
	struct bpf_object *o =
		bpf_object__open_mem(image->begin, (size_t)(image->end - image->begin), NULL);
	static const char *const unused[] = {"sonda_pids", "sonda_cgroups", "sonda_cgroups_seen",
					     "sonda_cgroups_edition", "sonda_awaited"};
	struct bpf_program *awaited;

	if (!o)
		return NULL;
	awaited = bpf_object__find_program_by_name(o, "on_awaited_group");
	if (awaited)
		bpf_program__set_autoload(awaited, false);
	bpf_map__set_initial_value(bpf_object__find_map_by_name(o, ".rodata.sonda"), &s, sizeof(s));
	for (size_t i = 0; i < ARRAY_SIZE(unused); i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(o, unused[i]);

		if (m)
			bpf_map__set_autocreate(m, false);
	}
	return bpf_object__load(o) == 0 && fill_tables(o) == 0 ? o : NULL;
}

/* Samples this thread each 50 us that it runs. */
static int open_event(int program)
{
	struct perf_event_attr a = {.size = sizeof(a),
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_TASK_CLOCK,
				    .sample_period = 50000};
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0 ? -1 : fd;
}

/* The kernel's own call: the C library has another restorer. */
static void set_handler(void)
{
	static char stack[1 << 16];
	struct {
		const void *handler;
		unsigned long flags;
		const void *restorer;
		uint64_t mask;
	} action = {known_handler, SA_SIGINFO | SA_ONSTACK | 0x04000000 /* SA_RESTORER */,
		    known_restore, 0};
	stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&alternative, NULL);
	syscall(SYS_rt_sigaction, SIGILL, &action, NULL, sizeof(action.mask));
}

/* ---- other processes ---- */

/* Runs the first case in this process. Does not return. */
static void run_and_exit(int program)
{
	if (open_event(program) < 0)
		_exit(1);
	current = &cases[0];
	known_start(20000000, current->callee, current->function);
	_exit(0);
}

/* The same in a process that was forked `depth` times, or has executed this program again. */
static pid_t start_process(int program, int depth, bool executes)
{
	pid_t pid = fork();
	char number[16];

	if (pid != 0)
		return pid;
	if (depth > 1) {
		pid = start_process(program, depth - 1, executes);
		_exit(waitpid(pid, NULL, 0) != pid);
	}
	if (executes) {
		snprintf(number, sizeof(number), "%d", dup(program)); /* it stays open */
		execl("/proc/self/exe", "ebpf_unwind", "--run", number, NULL);
		_exit(1);
	}
	run_and_exit(program);
	return -1;
}

static bool check_processes(int program, struct ring_buffer *ring)
{
	static const struct {
		const char *name;
		int depth;
		bool executes;
	} processes[] = {{"a forked process", 1, false},
			 {"a process that a forked one has forked", 2, false},
			 {"a process that executes a file that is known", 1, true}};
	bool failed = false;

	current = &cases[0];
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		pid_t pid = start_process(program, processes[i].depth, processes[i].executes);

		n_good = n_bad = 0;
		other_pid = processes[i].executes ? (uint32_t)pid : 0;
		waitpid(pid, NULL, 0);
		ring_buffer__consume(ring);
		printf("%sok - %s (%u samples)\n", n_good < 20 || n_bad ? "not " : "",
		       processes[i].name, n_good);
		failed |= n_good < 20 || n_bad;
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct bpf_object *o;
	struct ring_buffer *ring;
	int event, program;
	bool failed = false;

	if (argc > 2 && strcmp(argv[1], "--run") == 0)
		run_and_exit(atoi(argv[2]));
	o = argc > 1 ? load(argv[1]) : NULL;
	program = o ? bpf_program__fd(bpf_object__find_program_by_name(o, "on_sample")) : -1;
	event = open_event(program);
	ring = o ? ring_buffer__new(map_of(o, "samples"), on_sample, NULL, NULL) : NULL;

	if (event < 0 || !ring) {
		perror("cannot load or attach the program");
		return 2;
	}
	set_handler();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		current = &cases[i];
		n_good = n_bad = 0;
		for (int turn = 0; turn < 100 && n_good < 20 && !n_bad; turn++) {
			known_start(2000000, current->callee, current->function);
			ring_buffer__consume(ring);
		}
		printf("%sok - %s (%u samples)\n", n_good < 20 || n_bad ? "not " : "",
		       current->name, n_good);
		failed |= n_good < 20 || n_bad;
	}
	failed |= check_processes(program, ring);
	ring_buffer__free(ring);
	close(event);
	bpf_object__close(o);
	return failed;
}
#endif

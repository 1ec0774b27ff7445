/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: step_rows FIXTURE.so...
 *
 * Executes the function fixture() of each shared object instruction by instruction. At each one the
 * stack is unwound by the rows of the mapped files, in the way of bpf/unwind.h. The walk must come
 * to the caller of fixture(), with its stack pointer, return address and frame pointer; or it must
 * end at an address that has no rule. Prints a line for each object:
 *
 *	FIXTURE.so steps N complete N ended N wrong N
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <dlfcn.h>
#include <link.h>

#include "stacks/files/eh_rows.h"

#ifdef __x86_64__
#include <ucontext.h>

#define MODULES_MAX 64
#define FRAMES_MAX 200
#define TRAP_FLAG 0x100
#define WRONG_SHOWN 5

struct module {
	uint64_t begin, end; /* of its code */
	uint64_t bias; /* a row's address is pc - bias */
	struct eh_rows rows;
};

struct frame {
	uint64_t pc, sp, fp;
	bool is_exact; /* pc is no return address */
	bool has_fp; /* fp is known */
};

static struct module modules[MODULES_MAX];
static size_t n_modules;

/* The frame of fixture(). */
static uint64_t function, expected_sp, expected_ra, expected_fp;
static unsigned n_steps, n_complete, n_ended, n_wrong;

/* ---- rows of the mapped files ---- */

static int open_module(const struct dl_phdr_info *info)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	int fd;

	if ((uint64_t)h != info->dlpi_addr)
		return open(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", O_RDONLY);
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (write(fd, h, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize) < 0)
		return -1;
	return fd;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct module *m = &modules[n_modules];
	int fd = open_module(info);

	(void)size;
	(void)ctx;
	*m = (struct module){.begin = UINT64_MAX};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		if (info->dlpi_addr + p->p_vaddr < m->begin)
			m->begin = info->dlpi_addr + p->p_vaddr;
		m->end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	if (fd < 0 || eh_rows_read(fd, EH_ROWS_MAX, &m->rows) < 0) {
		fprintf(stderr, "%s: no rows\n", info->dlpi_name);
		exit(2);
	}
	close(fd);
	m->bias = info->dlpi_addr + m->rows.base;
	n_modules++;
	return n_modules == MODULES_MAX;
}

static const struct module *find_module(uint64_t pc)
{
	for (size_t i = 0; i < n_modules; i++)
		if (pc >= modules[i].begin && pc < modules[i].end)
			return &modules[i];
	return NULL;
}

/* Returns the rule at pc. *ret_further: the CFA is so many bytes further than the rule says. */
static uint16_t find_rule(const struct module *m, uint64_t pc, int *ret_further)
{
	size_t low = 0, high = m->rows.n_rows;
	const struct unwind_row *row;

	*ret_further = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->rows.rows[middle].address <= pc - m->bias)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return UNWIND_NO_RULE;
	row = &m->rows.rows[low - 1];
	if (row->next && pc - m->bias - row->address >= row->next)
		*ret_further = 8 * row->step;
	return row->rule;
}

/* ---- the walk ---- */

/* Returns 0 if the address is not mapped: then the walk is wrong. */
static uint64_t word_at(uint64_t address)
{
	uint64_t word = 0;
	const struct iovec to = {&word, sizeof(word)}, from = {(void *)address, sizeof(word)};

	(void)process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	return word;
}

/* Goes to the caller. Returns false if no rule says how. further: from find_rule(). */
static bool step_out(struct frame *f, const struct unwind_rule *r, uint64_t pc, int further)
{
	bool by_fp = r->base == UNWIND_BASE_FP || r->base == UNWIND_BASE_AT_FP;
	uint64_t cfa = (by_fp ? f->fp : f->sp) + (uint64_t)(int64_t)(r->cfa_offset + further);

	if ((by_fp || r->fp == UNWIND_AT_FP) && !f->has_fp)
		return false;
	if (r->base == UNWIND_BASE_PLT)
		cfa = f->sp + 8 + 8 * (pc % 16 >= (uint64_t)r->cfa_offset);
	else if (r->base == UNWIND_BASE_AT_SP || r->base == UNWIND_BASE_AT_FP)
		cfa = word_at(cfa) + (uint64_t)(int64_t)r->cfa_plus;
	if (r->fp == UNWIND_AT_CFA)
		f->fp = word_at(cfa + (uint64_t)(int64_t)r->fp_offset);
	else if (r->fp == UNWIND_AT_FP)
		f->fp = word_at(f->fp + (uint64_t)(int64_t)r->fp_offset);
	else if (r->fp == UNWIND_UNKNOWN)
		f->has_fp = false;
	if (r->fp == UNWIND_AT_CFA)
		f->has_fp = true;
	f->pc = word_at(cfa - 8);
	f->sp = cfa;
	f->is_exact = false;
	return true;
}

static void step_out_of_signal(struct frame *f)
{
	uint64_t regs = f->sp + offsetof(ucontext_t, uc_mcontext.gregs);

	*f = (struct frame){.pc = word_at(regs + 8 * REG_RIP),
			    .sp = word_at(regs + 8 * REG_RSP),
			    .fp = word_at(regs + 8 * REG_RBP),
			    .is_exact = true,
			    .has_fp = true};
}

static bool is_caller_of_fixture(const struct frame *f)
{
	return f->sp == expected_sp && f->pc == expected_ra && (!f->has_fp || f->fp == expected_fp);
}

/* Counts how the walk ends. */
static void walk(struct frame f)
{
	uint64_t at = f.pc;

	n_steps++;
	for (unsigned i = 0; i < FRAMES_MAX && !is_caller_of_fixture(&f); i++) {
		uint64_t pc = f.pc - !f.is_exact;
		const struct module *m = find_module(pc);
		int further;
		uint16_t rule = m ? find_rule(m, pc, &further) : UNWIND_END;

		if (rule == UNWIND_SIGNAL) {
			step_out_of_signal(&f);
		} else if (rule == UNWIND_NO_RULE || rule == UNWIND_NO_CALLER ||
			   (rule >= UNWIND_RULES_FIRST &&
			    !step_out(&f, &m->rows.rules[rule - UNWIND_RULES_FIRST], pc,
				      further))) {
			n_ended++;
			return;
		} else if (rule == UNWIND_END) {
			break;
		}
	}
	if (is_caller_of_fixture(&f)) {
		n_complete++;
	} else if (n_wrong++ < WRONG_SHOWN) {
		Dl_info info = {0};

		dladdr((void *)at, &info);
		fprintf(stderr, "wrong at 0x%llx of %s (%s)\n",
			(unsigned long long)(at - (uint64_t)info.dli_fbase), info.dli_fname ?: "?",
			info.dli_sname ?: "?");
	}
}

/* ---- single steps ---- */

static void on_trap(int number, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const struct frame f = {.pc = (uint64_t)regs[REG_RIP],
				.sp = (uint64_t)regs[REG_RSP],
				.fp = (uint64_t)regs[REG_RBP],
				.is_exact = true,
				.has_fp = true};

	(void)number;
	(void)info;
	if (f.pc == function && !expected_sp) {
		expected_sp = f.sp + 8;
		expected_ra = word_at(f.sp);
		expected_fp = f.fp;
	}
	if (!expected_sp)
		return;
	if (f.pc == expected_ra && f.sp == expected_sp)
		regs[REG_EFL] &= ~TRAP_FLAG;
	else
		walk(f);
}

static int step_through(const char *path)
{
	const struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	void *object = dlopen(path, RTLD_LAZY);
	void (*fixture)(void) = object ? (void (*)(void))dlsym(object, "fixture") : NULL;

	if (!fixture) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	n_modules = 0;
	dl_iterate_phdr(add_module, NULL);
	function = (uint64_t)fixture;
	expected_sp = 0;
	n_steps = n_complete = n_ended = n_wrong = 0;
	sigaction(SIGTRAP, &trap, NULL);
	__asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" ::"i"(TRAP_FLAG) : "memory", "cc");
	fixture();
	signal(SIGTRAP, SIG_DFL);
	printf("%s steps %u complete %u ended %u wrong %u\n", path, n_steps, n_complete, n_ended,
	       n_wrong);
	for (size_t i = 0; i < n_modules; i++)
		eh_rows_deinit(&modules[i].rows);
	dlclose(object);
	return n_wrong > 0;
}
#else
static int step_through(const char *path)
{
	(void)path;
	return 77;
}
#endif

int main(int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc; i++)
		r |= step_through(argv[i]);
	return r;
}

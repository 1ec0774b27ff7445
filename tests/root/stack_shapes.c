/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_shapes MS: a load of functions whose stacks are hard to unwind, each for MS milliseconds of
 * CPU time. Compiled without frame pointers.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, used))

static volatile unsigned long sum;
static clock_t ms; /* of a shape */

/* The addition after a call keeps the caller on the stack: it is no tail call. */
#define CALL(function)                                                                             \
	do {                                                                                       \
		function;                                                                          \
		sum++;                                                                             \
	} while (0)

NOINLINE static void shape_spin(void)
{
	clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);

	do
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
	while (clock() < end);
}

NOINLINE static void shape_chain_3(void)
{
	CALL(shape_spin());
}

NOINLINE static void shape_chain_2(void)
{
	char room[300];

	memset(room, (int)sum, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	CALL(shape_chain_3());
}

NOINLINE static void shape_chain(void)
{
	CALL(shape_chain_2());
}

/* The stack is aligned anew, so the caller's frame is at no fixed distance. */
NOINLINE static void shape_aligned(void)
{
	_Alignas(64) char room[64];

	memset(room, (int)sum, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	CALL(shape_spin());
}

NOINLINE static void shape_sized(size_t n)
{
	char *room = alloca(n);

	memset(room, (int)sum, n);
	__asm__ volatile("" : : "r"(room) : "memory");
	CALL(shape_spin());
}

NOINLINE static void shape_deep(int n)
{
	if (n > 1)
		CALL(shape_deep(n - 1));
	else
		CALL(shape_spin());
}

NOINLINE static void shape_deep_200(void)
{
	CALL(shape_deep(200));
}

NOINLINE static void shape_deep_600(void)
{
	CALL(shape_deep(600));
}

/* ---- signals ---- */

NOINLINE static void shape_handler(int number)
{
	(void)number;
	CALL(shape_spin());
}

NOINLINE static void shape_signal(void)
{
	static char stack[1 << 16];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const struct sigaction action = {.sa_handler = shape_handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	CALL(raise(SIGUSR1));
}

/* ---- other stacks ---- */

static ucontext_t main_context, fiber_context;

NOINLINE static void shape_fiber(void)
{
	CALL(shape_spin());
}

NOINLINE static void shape_switch(void)
{
	static char stack[1 << 16];

	getcontext(&fiber_context);
	fiber_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof(stack)};
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, shape_fiber, 0);
	swapcontext(&main_context, &fiber_context);
}

/* ---- calls that do not return ---- */

static jmp_buf back;

NOINLINE static __attribute__((noreturn)) void shape_no_return(void)
{
	shape_spin();
	longjmp(back, 1);
}

/* The call is the last instruction. */
NOINLINE static __attribute__((noreturn)) void shape_last_call(void)
{
	sum++;
	shape_no_return();
}

NOINLINE static void shape_jump(void)
{
	if (!setjmp(back))
		shape_last_call();
}

/* ---- code that is mapped ---- */

NOINLINE static void shape_clock(void)
{
	clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);
	struct timespec t;

	do
		for (int i = 0; i < 10000; i++)
			clock_gettime(CLOCK_MONOTONIC, &t);
	while (clock() < end);
}

/* A library that was not mapped at the start. */
NOINLINE static void shape_library(void)
{
	static unsigned char bytes[1 << 20];
	unsigned long (*crc)(unsigned long, const unsigned char *, unsigned);
	void *library = dlopen("libz.so.1", RTLD_NOW);
	clock_t end = clock() + 4 * ms * (CLOCKS_PER_SEC / 1000);

	*(void **)&crc = library ? dlsym(library, "crc32") : NULL;
	while (crc && clock() < end)
		sum += crc(0, bytes, sizeof(bytes));
	if (library)
		dlclose(library);
}

int main(int argc, char **argv)
{
	ms = argc > 1 ? atol(argv[1]) : 100;
	for (int i = 0; i < 5; i++)
		shape_spin(); /* until the tables of this program are there */
	shape_chain();
	shape_aligned();
	shape_sized(100 + (size_t)argc);
	shape_deep_200();
	shape_deep_600();
	shape_signal();
	shape_switch();
	shape_jump();
	shape_clock();
	shape_library();
	return 0;
}

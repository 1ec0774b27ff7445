/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests/system/step_rows.c executes instruction by instruction. test_step_rows.sh compiles it
 * in several ways into shared objects. `int3` lets a place be checked where single steps do not go:
 * handlers of signals.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

void fixture(void);

static volatile int sink;

/* Keeps the compiler from knowing what happens with the memory. */
static NOINLINE void use(void *p, size_t n)
{
	memset(p, (int)n, n > 8 ? 8 : n);
	sink += *(char *)p;
}

static NOINLINE int aligned_locals(int n)
{
	__attribute__((aligned(64))) char buf[128];
	char *more = alloca((size_t)n); /* so that GCC needs a register for the arguments */

	use(buf, sizeof(buf));
	use(more, (size_t)n);
	return buf[3] + more[n - 1];
}

static NOINLINE int many_arguments(int a, int b, int c, int d, int e, int f, int g, int h)
{
	__attribute__((aligned(32))) char buf[32];

	use(buf, sizeof(buf));
	return a + b * c - d * e + f * g - h + buf[1];
}

static NOINLINE int variable_array(int n)
{
	int array[n];

	for (int i = 0; i < n; i++)
		array[i] = i * n;
	use(array, sizeof(array[0]));
	return array[n - 1];
}

/* More values than registers: the frame pointer becomes one of them. */
static NOINLINE int general_register(int a, int b, int c, int d, int e, int f)
{
	int g = a ^ b, h = b ^ c, i = c ^ d, j = d ^ e, k = e ^ f, l = f ^ a, m = a * d;

	for (int n = 0; n < 3; n++) {
		sink += a + b + c + d + e + f + g + h + i + j + k + l + m;
		a = g + l;
		b = h * k;
		c = i - j;
		d = j + m;
		e = k ^ i;
		f = l * h;
		g += a;
		h += b;
		i += c;
		j += d;
		k += e;
		l += f;
		m += n;
	}
	return a + b + c + d + e + f + g + h + i + j + k + l + m;
}

static NOINLINE int large_frame(void)
{
	char buf[100000];

	use(buf, 8);
	use(buf + sizeof(buf) - 8, 8);
	return buf[0];
}

static NOINLINE int early_return(const char *p)
{
	char buf[24];

	if (!p)
		return 3;
	use(buf, sizeof(buf));
	if (!*p)
		return 4;
	return (int)strlen(p);
}

static jmp_buf before;

static NOINLINE __attribute__((noreturn)) void goes_back(void)
{
	__asm__ volatile("int3");
	longjmp(before, 1);
}

/* The call of a function that does not return is the last instruction: the return address belongs
 * to the next function. */
static NOINLINE __attribute__((noreturn)) void last_call(void)
{
	sink++;
	goes_back();
}

static NOINLINE int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static NOINLINE int recursion(int n)
{
	return n == 0 ? sink : recursion(n - 1) * 3 + n;
}

static void on_signal(int number)
{
	sink += number;
	__asm__ volatile("int3");
	if (number == SIGUSR1)
		raise(SIGUSR2);
}

static NOINLINE void signals(void)
{
	static char stack[64 << 10];
	const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const stack_t none = {.ss_flags = SS_DISABLE};
	struct sigaction own = {.sa_handler = on_signal}, other = own;

	other.sa_flags = SA_ONSTACK;
	sigaltstack(&alternative, NULL);
	sigaction(SIGUSR1, &own, NULL);
	sigaction(SIGUSR2, &other, NULL);
	raise(SIGUSR1);
	sigaltstack(&none, NULL);
}

void fixture(void)
{
	int values[] = {5, 3, 9, 1, 7, 2};
	struct timespec t;

	sink += aligned_locals(40);
	sink += many_arguments(1, 2, 3, 4, 5, 6, 7, 8);
	sink += variable_array(9);
	sink += general_register(1, 2, 3, 4, 5, 6);
	sink += large_frame();
	sink += early_return(NULL) + early_return("") + early_return("text");
	if (setjmp(before) == 0)
		last_call();
	qsort(values, sizeof(values) / sizeof(values[0]), sizeof(values[0]), by_value);
	sink += recursion(20) + values[0];
	clock_gettime(CLOCK_MONOTONIC, &t); /* in the vDSO */
	signals();
}

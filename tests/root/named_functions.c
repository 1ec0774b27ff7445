/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: named_functions MS
 *
 * Runs for that time of the CPU in functions whose names are those of a C++ and of two Rust compilers, and in one
 * that is in no table of exported symbols.
 */
#include <stdlib.h>
#include <time.h>

#define SPINS 2000

int spin_cplusplus(int x) __asm__(
	"_ZN5store4findERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
int spin_rust(int x) __asm__("_RNvCs1234_7mycrate3foo");
int spin_old_rust(int x) __asm__("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE");

static __attribute__((noinline)) int spin(int x)
{
	for (volatile int i = 0; i < SPINS; i++)
		x += i;
	return x;
}

__attribute__((noinline)) int spin_cplusplus(int x)
{
	for (volatile int i = 0; i < SPINS; i++)
		x += 2 * i;
	return x;
}

__attribute__((noinline)) int spin_rust(int x)
{
	for (volatile int i = 0; i < SPINS; i++)
		x -= i;
	return x;
}

__attribute__((noinline)) int spin_old_rust(int x)
{
	for (volatile int i = 0; i < SPINS; i++)
		x ^= i;
	return x;
}

int main(int argc, char **argv)
{
	struct timespec now, end;
	int x = argc > 1 ? atoi(argv[1]) : 1000;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	end.tv_sec += x / 1000;
	end.tv_nsec += x % 1000 * 1000000L;
	do {
		for (int i = 0; i < 20; i++)
			x = spin(spin_cplusplus(spin_rust(spin_old_rust(x))));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	return x == 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose rows test_eh_rows.sh compares, for an architecture without a C library here. */
typedef unsigned long size_t;
void *memset(void *, int, size_t);
size_t strlen(const char *);
int other(int, void *);

int leaf(int a, int b)
{
	return a * b + 3;
}

int one_call(int a)
{
	return other(a, 0) + 1;
}

int large_frame(int n)
{
	char buf[100000];

	memset(buf, n, 500);
	return other(n, buf) + buf[3];
}

int variable_array(int n)
{
	char buf[n];

	memset(buf, n, (size_t)n);
	return other(n, buf) + buf[3];
}

int aligned_locals(int n)
{
	__attribute__((aligned(64))) char buf[64];

	memset(buf, n, sizeof(buf));
	return other(n, buf);
}

int early_return(const char *p)
{
	if (!p)
		return 1;
	if (!*p)
		return other(2, 0);
	return (int)strlen(p) + other(1, (void *)p);
}

int recursion(int n)
{
	return n ? recursion(n - 1) * n + other(n, 0) : 1;
}

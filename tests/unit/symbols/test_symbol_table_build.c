/* SPDX-License-Identifier: Apache-2.0 */
/* Made tables, and that of the running kernel against a plain reading of it. */

#include "symbols/symbol_table.h"
#include "unit/ftrace/oracle_symbols.h"
#include "unit/rng.h"
#include "unit/test.h"

/* Fed in pieces of so many bytes; 0 is all at once. */
static struct symbol_table build(const char *text, size_t len, size_t piece)
{
	struct symbol_table_build *b;
	int r;

	assert_int_equal(symbol_table_build_new(&b), 0);
	for (size_t at = 0, n; at < len; at += n) {
		n = piece ? MIN(piece, len - at) : len;
		assert_int_equal(symbol_table_build_feed(b, text + at, n), 0);
	}
	while ((r = symbol_table_build_step(b)) == 1)
		;
	assert_int_equal(r, 0);
	return symbol_table_build_finish(b);
}

static void assert_name(const struct symbol_table *k, uint64_t address, const char *want)
{
	char name[SYMBOL_TABLE_NAME_MAX];
	size_t len = symbol_table_find_name(k, address, name);

	if (len != strlen(want) || memcmp(name, want, len))
		fail_msg("%llx is \"%.*s\", not \"%s\"", (unsigned long long)address, (int)len,
			 name, want);
}

static const char some[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000100 t __pfx_do_idle\n"
			   "ffffffff81000110 t do_idle\n"
			   "ffffffff81000200 W arch_cpu_idle_dead\n"
			   "ffffffff81000300 t x.constprop.0\n"
			   "ffffffff81000400 t $x\n"
			   "ffffffff81000500 t checked.cfi_jt\n"
			   "ffffffff81000600 t checked_too.cfi\n"
			   "ffffffff81000700 T _etext\n"
			   "ffffffff81000800 D data_of_mine\n"
			   "ffffffff81000900 t __init_a__b_\n"
			   "no line of it\n"
			   "ffffffff81000a00\n"
			   "ffffffffc0100000 t late\t[module_b]\n"
			   "ffffffffc0000000 t early\t[module_a]\n"
			   "ffffffffc0000040 T middle\t[module_a]\n"
			   "ffffffffc0000040 T alias\t[module_a]\n"
			   "ffffffffc0200000 t bpf_prog_6deef7357e7b4530_sd_devices\t[bpf]";

TEST(which_name_an_address_has)
{
	for (size_t piece = 0; piece < 70; piece++) {
		struct symbol_table k = build(some, strlen(some), piece);

		assert_name(&k, 0, "");
		assert_name(&k, 0xffffffff80ffffff, "");
		assert_name(&k, 0xffffffff81000000, "_stext"); /* the first of two */
		assert_name(&k, 0xffffffff81000105, "_stext"); /* the gap is what is before it */
		assert_name(&k, 0xffffffff81000110, "do_idle");
		assert_name(&k, 0xffffffff810001ff, "do_idle");
		assert_name(&k, 0xffffffff81000200, "arch_cpu_idle_dead");
		assert_name(&k, 0xffffffff81000420, "x.constprop.0");
		assert_name(&k, 0xffffffff81000500, "checked");
		assert_name(&k, 0xffffffff810006ff, "checked_too");
		assert_name(&k, 0xffffffff81000700, ""); /* behind the last function */
		assert_name(&k, 0xffffffff81000810, ""); /* data */
		assert_name(&k, 0xffffffff81000900, "__init_a__b_");
		assert_name(&k, 0xffffffff810fffff, "__init_a__b_");
		assert_name(&k, 0xffffffff81100900, ""); /* too far */
		assert_name(&k, 0xffffffffc0000000, "early");
		assert_name(&k, 0xffffffffc0000040, "middle");
		assert_name(&k, 0xffffffffc0100000, "late");
		assert_name(&k, 0xffffffffc0200004, "bpf_prog_6deef7357e7b4530_sd_devices");
		assert_name(&k, UINT64_MAX, "");
		assert_int_equal(k.n_functions, 11);
		symbol_table_deinit(&k);
	}
}

TEST(nothing_to_read_is_an_empty_table)
{
	static const char *const texts[] = {"",
					    "\n\n",
					    "0000000000000000 T hidden\n0000000000000000 t all\n",
					    "ffffffff81000000 D data\n",
					    "ffffffff81000000 T ",
					    "garbage \x01\x02 \n"};

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		struct symbol_table k = build(texts[i], strlen(texts[i]), 0);

		assert_int_equal(k.n_functions, 0);
		assert_int_equal(symbol_table_size(&k), 0);
		assert_name(&k, 0xffffffff81000000, "");
		symbol_table_deinit(&k);
	}
}

TEST(long_lines_and_names)
{
	char line[3000];
	size_t n = (size_t)sprintf(line, "1000 t ");
	struct symbol_table k;

	memset(line + n, 'a', 511);
	strcpy(line + n + 511, "\n2000 t b\n");
	k = build(line, strlen(line), 7);
	line[n + 511] = '\0';
	assert_name(&k, 0x1000, line + n);
	assert_name(&k, 0x2000, "b");
	symbol_table_deinit(&k);

	memset(line + n, '_', 512); /* one too long */
	strcpy(line + n + 512, "\n2000 t b\n");
	k = build(line, strlen(line), 7);
	assert_name(&k, 0x1000, "");
	assert_name(&k, 0x2000, "b");
	symbol_table_deinit(&k);

	memset(line + n, '_', 511);
	strcpy(line + n + 511, "\n2000 t b\n");
	k = build(line, strlen(line), 0);
	line[n + 511] = '\0';
	assert_name(&k, 0x1000, line + n);
	symbol_table_deinit(&k);

	memset(line + n, 'a', 2500);
	strcpy(line + n + 2500, "\n2000 t b\n");
	k = build(line, strlen(line), 100);
	assert_name(&k, 0x1000, "");
	assert_name(&k, 0x2000, "b");
	symbol_table_deinit(&k);
}

/* In any order, many at one address. */
TEST(many_symbols_in_any_order)
{
	enum { N = 40000 };
	static struct {
		uint64_t address;
		unsigned name;
	} first[N];
	char *text = malloc(N * 64);
	uint64_t seed = 3;
	struct symbol_table k;
	size_t len = 0;
	char want[64];

	for (unsigned i = 0; i < N; i++) {
		uint64_t at = rng_below(&seed, N / 2);

		len += (size_t)sprintf(text + len, "%llx t w%u_common_x%u\n",
				       (unsigned long long)(0xffffffff80000000 + at * 64), i,
				       i % 7);
		if (!first[at].address) {
			first[at].address = 0xffffffff80000000 + at * 64;
			first[at].name = i;
		}
	}
	k = build(text, len, 4096);
	for (unsigned i = 0; i < N / 2; i++) {
		if (!first[i].address)
			continue;
		snprintf(want, sizeof(want), "w%u_common_x%u", first[i].name, first[i].name % 7);
		assert_name(&k, first[i].address, want);
		assert_name(&k, first[i].address + 63, want);
	}
	symbol_table_deinit(&k);
	free(text);
}

TEST(a_table_that_is_given_up)
{
	struct symbol_table_build *b;

	for (unsigned steps = 0; steps < 8; steps++) {
		assert_int_equal(symbol_table_build_new(&b), 0);
		assert_int_equal(symbol_table_build_feed(b, some, strlen(some)), 0);
		for (unsigned i = 0; i < steps; i++)
			assert_in_range(symbol_table_build_step(b), 0, 1);
		symbol_table_build_free(b);
	}
	symbol_table_build_free(NULL);
}

TEST(the_running_kernel)
{
	static char text[16 << 20];
	struct oracle_symbols o;
	uint64_t seed = 9;
	size_t len = 0, n;
	struct symbol_table k;
	char copy[] = "/tmp/sonda-kallsyms-XXXXXX";
	FILE *f;

	/* Read once: other tests load and unload BPF programs meanwhile. */
	f = fopen("/proc/kallsyms", "r");
	while (f && len < sizeof(text) && (n = fread(text + len, 1, sizeof(text) - len, f)))
		len += n;
	if (f)
		fclose(f);
	f = fdopen(mkstemp(copy), "w");
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	oracle_symbols_load(&o, copy);
	unlink(copy);
	if (!o.n || len == sizeof(text)) {
		oracle_symbols_free(&o);
		skip();
	}
	k = build(text, len, 4096);
	for (size_t i = 0; i < o.n; i++)
		for (int by = -1; by <= 1; by++) {
			uint64_t address = o.symbols[i].address + (uint64_t)by;
			const char *want = oracle_symbols_name(&o, address);

			assert_name(&k, address, want ? want : "");
		}
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t address =
			o.symbols[0].address +
			rng_next(&seed) % (o.symbols[o.n - 1].address - o.symbols[0].address + 2);
		const char *want = oracle_symbols_name(&o, address);

		assert_name(&k, address, want ? want : "");
	}
	print_message("%u functions, %.1f bytes each\n", k.n_functions,
		      (double)symbol_table_size(&k) / k.n_functions);
	assert_true(symbol_table_size(&k) < k.n_functions * 24);
	symbol_table_deinit(&k);
	oracle_symbols_free(&o);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/cpu_info.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "gen/fields.h"
#include "procfs/span.h"
#include "wire/pb_enc.h"

/*
 * /proc/cpuinfo is one group of "key : value" lines a processor, with an empty line behind. The
 * keys are the architecture's own; "processor" with the number is common to those known here. Old
 * Arm kernels name the model once for all, as "Processor", in a group of its own or in the first.
 */

#define SYS_FILE_MAX 65536
#define UNKNOWN "unknown"

enum arm_key { ARM_IMPLEMENTER, ARM_ARCHITECTURE, ARM_VARIANT, ARM_PART, ARM_REVISION, ARM_KEYS };

static const char *const arm_keys[ARM_KEYS] = {
	[ARM_IMPLEMENTER] = "CPU implementer", [ARM_ARCHITECTURE] = "CPU architecture",
	[ARM_VARIANT] = "CPU variant",	       [ARM_PART] = "CPU part",
	[ARM_REVISION] = "CPU revision",
};

static const uint32_t arm_fields[ARM_KEYS] = {
	[ARM_IMPLEMENTER] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_IMPLEMENTER,
	[ARM_ARCHITECTURE] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_ARCHITECTURE,
	[ARM_VARIANT] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_VARIANT,
	[ARM_PART] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_PART,
	[ARM_REVISION] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_REVISION,
};

/* Bit N of CpuInfo.Cpu.features. */
static const char *const features[] = {"mte", "mte3"};

struct cpu {
	bool has_number;
	uint32_t number;
	struct span model;
	uint32_t arm[ARM_KEYS];
	uint8_t has_arm; /* bits by enum arm_key */
	uint64_t features;
};

static uint64_t features_of(struct span words)
{
	struct span word;
	uint64_t bits = 0;

	while (span_next_word(&words, &word))
		for (unsigned i = 0; i < ARRAY_SIZE(features); i++)
			if (span_is(word, features[i]))
				bits |= 1ull << i;
	return bits;
}

static void take_line(struct cpu *c, struct span key, struct span value)
{
	if (span_is(key, "processor"))
		c->has_number = span_number(value, &c->number);
	else if (span_is(key, "model name"))
		c->model = value;
	else if (span_is(key, "Features") || span_is(key, "Flags"))
		c->features = features_of(value);
	for (unsigned k = 0; k < ARM_KEYS; k++)
		if (span_is(key, arm_keys[k]) && span_number(value, &c->arm[k]))
			c->has_arm |= (uint8_t)(1u << k);
}

/* The next group that has lines. */
static bool next_cpu(struct span *text, struct cpu *ret)
{
	struct span line, key, value;
	bool any = false;

	*ret = (struct cpu){0};
	while (span_next_line(text, &line)) {
		if (span_trim(line).len == 0) {
			if (any)
				break;
			continue;
		}
		any = true;
		if (span_split(line, &key, &value))
			take_line(ret, key, value);
	}
	return any;
}

/* The model that stands once for all, or nothing. */
static struct span common_model(struct span text)
{
	struct span line, key, value;

	while (span_next_line(&text, &line))
		if (span_split(line, &key, &value) && span_is(key, "Processor"))
			return value;
	return (struct span){0};
}

static void add_frequencies(struct strbuf *numbers, const char *dir, const char *file)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%s/cpufreq/%s", dir, file) < (int)sizeof(path) &&
	    fs_read_file(path, SYS_FILE_MAX, numbers) == 0)
		strbuf_putc(numbers, ' ');
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* In ascending order, each once. */
static void put_frequencies(struct pb_enc *e, const char *dir)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	_cleanup_(freep) uint32_t *khz = NULL;
	struct span words, word;
	size_t n = 0, cap = 0;

	add_frequencies(&text, dir, "scaling_available_frequencies");
	add_frequencies(&text, dir, "scaling_boost_frequencies");
	for (size_t i = 0; i < text.len; i++)
		if (text.s[i] == '\n')
			text.s[i] = ' ';
	words = (struct span){text.s, text.len};
	while (span_next_word(&words, &word)) {
		if (array_reserve(&khz, &cap, n + 1, sizeof(*khz)) < 0)
			return;
		if (span_number(word, &khz[n]))
			n++;
	}
	if (n > 0)
		qsort(khz, n, sizeof(*khz), by_value);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || khz[i] != khz[i - 1])
			pb_enc_u64(e, PB_CPU_INFO_CPU_FREQUENCIES, khz[i]);
}

static void put_capacity(struct pb_enc *e, const char *dir)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct span words, word;
	char path[512];
	uint32_t v;

	if (fs_join(path, sizeof(path), dir, "cpu_capacity") < 0 ||
	    fs_read_file(path, SYS_FILE_MAX, &text) < 0)
		return;
	words = (struct span){text.s, text.len};
	if (span_next_word(&words, &word) && span_number(word, &v))
		pb_enc_u64(e, PB_CPU_INFO_CPU_CAPACITY, v);
}

/* Only whole: half an identifier is that of another core. */
static void put_arm(struct pb_enc *e, const struct cpu *c)
{
	if (c->has_arm != (1u << ARM_KEYS) - 1)
		return;
	pb_enc_open(e, PB_CPU_INFO_CPU_ARM_IDENTIFIER);
	for (unsigned k = 0; k < ARM_KEYS; k++)
		pb_enc_u64(e, arm_fields[k], c->arm[k]);
	pb_enc_close(e);
}

static void put_cpu(struct pb_enc *e, const struct cpu *c, struct span model, const char *sys_root)
{
	char dir[256];

	if (c->model.len > 0)
		model = c->model;
	pb_enc_open(e, PB_CPU_INFO_CPUS);
	if (model.len > 0)
		pb_enc_bytes(e, PB_CPU_INFO_CPU_PROCESSOR, model.p, model.len);
	else
		pb_enc_str(e, PB_CPU_INFO_CPU_PROCESSOR, UNKNOWN);
	if (c->has_number && snprintf(dir, sizeof(dir), "%s/devices/system/cpu/cpu%u", sys_root,
				      c->number) < (int)sizeof(dir)) {
		put_frequencies(e, dir);
		put_capacity(e, dir);
	}
	put_arm(e, c);
	if (c->features)
		pb_enc_u64(e, PB_CPU_INFO_CPU_FEATURES, c->features);
	pb_enc_close(e);
}

void cpu_info_encode(struct pb_enc *e, const char *cpuinfo, size_t len, const char *sys_root)
{
	struct span text = {cpuinfo, len}, model = common_model(text);
	const struct cpu offline = {0};
	uint32_t next = 0;
	struct cpu c;

	while (next_cpu(&text, &c)) {
		if (!c.has_number || c.number < next || c.number >= CPU_INFO_MAX)
			continue;
		for (; next < c.number; next++)
			put_cpu(e, &offline, (struct span){0}, sys_root);
		put_cpu(e, &c, model, sys_root);
		next++;
	}
}

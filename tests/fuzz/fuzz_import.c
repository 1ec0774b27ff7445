/* SPDX-License-Identifier: Apache-2.0 */
/* A trace.dat or perf.data of any bytes: what is written is a trace of valid packets, and the notes are printable. */
#include <assert.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gen/fields.h"
#include "import/import.h"
#include "import/perf_data/kernel_names.h"
#include "wire/pb_dec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_trace(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	struct pb_field packet, field;
	struct pb_dec trace, fields;
	void *data;

	if (len <= 0)
		return;
	data = mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, fd, 0);
	assert(data != MAP_FAILED);
	pb_dec_init(&trace, data, (size_t)len);
	while (pb_dec_next(&trace, &packet)) {
		assert(packet.id == PB_TRACE_PACKET && packet.data);
		pb_dec_init(&fields, packet.data, packet.len);
		while (pb_dec_next(&fields, &field))
			;
		assert(pb_dec_ok(&fields));
	}
	assert(pb_dec_ok(&trace));
	munmap(data, (size_t)len);
}

static void check_text(const char *text, size_t size)
{
	const char *end = memchr(text, '\0', size);

	assert(end);
	for (; text < end; text++)
		assert(*text >= ' ' && *text <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kernel_names_source source = {
		.kallsyms = "ffffffff81000000 T _text\nffffffff81000100 T function\n",
		.is_of_user = true,
	};
	static struct import_result result;
	int out = memfd_create("trace", MFD_CLOEXEC);
	int r;

	assert(out >= 0);
	memset(&result, 0, sizeof(result));
	r = import_bytes(data, size, out, NULL, &source, &result);
	assert(r <= 0 && (r < 0) == (result.error < 0));
	if (!r)
		check_trace(out);
	check_text(result.problem, sizeof(result.problem));
	for (unsigned i = 0; i < IMPORT_NOTES; i++)
		check_text(result.notes[i], sizeof(result.notes[i]));
	close(out);
	return 0;
}

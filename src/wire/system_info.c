/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/system_info.h"

#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "gen/fields.h"

static void put_utsname(struct pb_enc *e)
{
	struct utsname u;

	if (uname(&u) < 0)
		return;
	pb_enc_open(e, PB_SYSTEM_INFO_UTSNAME);
	pb_enc_str(e, PB_UTSNAME_SYSNAME, u.sysname);
	pb_enc_str(e, PB_UTSNAME_VERSION, u.version);
	pb_enc_str(e, PB_UTSNAME_RELEASE, u.release);
	pb_enc_str(e, PB_UTSNAME_MACHINE, u.machine);
	pb_enc_close(e);
}

static int timezone_minutes(void)
{
	time_t now = time(NULL);
	struct tm tm;

	return localtime_r(&now, &tm) ? (int)(tm.tm_gmtoff / 60) : 0;
}

void system_info_put(struct pb_enc *e)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	put_utsname(e);
	pb_enc_u64(e, PB_SYSTEM_INFO_PAGE_SIZE, page);
	pb_enc_i64(e, PB_SYSTEM_INFO_TIMEZONE_OFF_MINS, timezone_minutes());
	pb_enc_u64(e, PB_SYSTEM_INFO_NUM_CPUS, (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
	pb_enc_u64(e, PB_SYSTEM_INFO_SYSTEM_RAM_BYTES, (uint64_t)sysconf(_SC_PHYS_PAGES) * page);
}

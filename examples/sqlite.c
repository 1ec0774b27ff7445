/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite on the timeline, through its own hooks: SQLite is not changed. The program reads SQL from
 * standard input and prints the rows, as the sqlite3 shell does. A trace has
 *
 *	a slice for each statement		sqlite3_trace_v2(), on a track of its own: statements
 *						of a connection may overlap
 *	a slice for each read, write and sync	a VFS between SQLite and the system
 *	an instant for each wait for a lock	sqlite3_busy_handler()
 *	the page cache in bytes			sqlite3_db_status(), after each statement
 *
 *	cc -o sqlite sqlite.c $(pkg-config --cflags --libs sonda sqlite3)
 *	sonda record --app 'sqlite*' -- ./sqlite file.db <statements.sql
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonda/sonda.h>
#include <sqlite3.h>

SONDA_CATEGORY_DEFINE(statements, "sqlite.statements", "SQL statements", "sql");
SONDA_CATEGORY_DEFINE(files, "sqlite.files", "Reads, writes and syncs of SQLite's files", "io");

/* ---- statements ---- */

static void count_memory(sqlite3 *db)
{
	struct sonda_track cache = sonda_track_counter("page cache", NULL);
	int now = 0, most;

	if (!sonda_category_enabled(&statements))
		return;
	cache.unit = SONDA_UNIT_BYTES;
	sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_USED, &now, &most, 0);
	SONDA_COUNTER(statements, &cache, now);
}

static int on_trace(unsigned type, void *ctx, void *p, void *x)
{
	sqlite3_stmt *statement = p;
	struct sonda_track track =
		sonda_track_named("statements", (uint64_t)(uintptr_t)statement, NULL);
	const char *sql = x;

	(void)ctx;
	if (type == SQLITE_TRACE_STMT && strncmp(sql, "--", 2) == 0) {
		SONDA_INSTANT(statements, "trigger", SONDA_STRING("what", sql + 2),
			      SONDA_TRACK(&track));
	} else if (type == SQLITE_TRACE_STMT) {
		SONDA_BEGIN(statements, "statement", SONDA_STRING("sql", sql), SONDA_TRACK(&track));
	} else if (type == SQLITE_TRACE_PROFILE) {
		SONDA_END(statements, SONDA_TRACK(&track),
			  SONDA_INT("vm_steps",
				    sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0)),
			  SONDA_INT("full_scan_steps",
				    sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP,
							0)));
		count_memory(sqlite3_db_handle(statement));
	}
	return 0;
}

static int on_busy(void *ctx, int count)
{
	(void)ctx;
	SONDA_INSTANT(statements, "waits for a lock", SONDA_INT("count", count));
	usleep(1000);
	return count < 5000;
}

/* ---- files ---- */

/* Behind it stands the file of the system's VFS. */
struct file {
	sqlite3_file base;
	const char *name; /* SQLite's, as long as the file is open; NULL: a temporary one */
	sqlite3_file *real;
};

static sqlite3_file *real_of(sqlite3_file *f)
{
	return ((struct file *)f)->real;
}

static const char *name_of(sqlite3_file *f)
{
	const char *name = ((struct file *)f)->name;
	const char *slash = name ? strrchr(name, '/') : NULL;

	return slash ? slash + 1 : name ? name : "temporary";
}

static int file_read(sqlite3_file *f, void *data, int len, sqlite3_int64 at)
{
	SONDA_SCOPE(files, "read", SONDA_STRING("file", name_of(f)), SONDA_INT("bytes", len),
		    SONDA_INT("at", at));
	return real_of(f)->pMethods->xRead(real_of(f), data, len, at);
}

static int file_write(sqlite3_file *f, const void *data, int len, sqlite3_int64 at)
{
	SONDA_SCOPE(files, "write", SONDA_STRING("file", name_of(f)), SONDA_INT("bytes", len),
		    SONDA_INT("at", at));
	return real_of(f)->pMethods->xWrite(real_of(f), data, len, at);
}

static int file_sync(sqlite3_file *f, int flags)
{
	SONDA_SCOPE(files, "sync", SONDA_STRING("file", name_of(f)));
	return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int file_close(sqlite3_file *f)
{
	return real_of(f)->pMethods->xClose(real_of(f));
}

/* What is passed on as it is. */
#define PASS_ON(method, parameters, arguments)                                                     \
	static int file_##method parameters                                                        \
	{                                                                                          \
		return real_of(f)->pMethods->x##method arguments;                                  \
	}
PASS_ON(Truncate, (sqlite3_file * f, sqlite3_int64 size), (real_of(f), size))
PASS_ON(FileSize, (sqlite3_file * f, sqlite3_int64 *ret), (real_of(f), ret))
PASS_ON(Lock, (sqlite3_file * f, int lock), (real_of(f), lock))
PASS_ON(Unlock, (sqlite3_file * f, int lock), (real_of(f), lock))
PASS_ON(CheckReservedLock, (sqlite3_file * f, int *ret), (real_of(f), ret))
PASS_ON(FileControl, (sqlite3_file * f, int op, void *arg), (real_of(f), op, arg))
PASS_ON(SectorSize, (sqlite3_file * f), (real_of(f)))
PASS_ON(DeviceCharacteristics, (sqlite3_file * f), (real_of(f)))
PASS_ON(ShmMap, (sqlite3_file * f, int page, int size, int extend, void volatile **ret),
	(real_of(f), page, size, extend, ret))
PASS_ON(ShmLock, (sqlite3_file * f, int at, int n, int flags), (real_of(f), at, n, flags))
PASS_ON(ShmUnmap, (sqlite3_file * f, int remove), (real_of(f), remove))

static void file_ShmBarrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

/* Version 2: with shared memory for the write-ahead log, without mapped reads. */
static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_Truncate,
	.xSync = file_sync,
	.xFileSize = file_FileSize,
	.xLock = file_Lock,
	.xUnlock = file_Unlock,
	.xCheckReservedLock = file_CheckReservedLock,
	.xFileControl = file_FileControl,
	.xSectorSize = file_SectorSize,
	.xDeviceCharacteristics = file_DeviceCharacteristics,
	.xShmMap = file_ShmMap,
	.xShmLock = file_ShmLock,
	.xShmBarrier = file_ShmBarrier,
	.xShmUnmap = file_ShmUnmap,
};

static sqlite3_vfs *system_vfs;

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	struct file *file = (struct file *)f;
	int r;

	(void)vfs;
	file->name = name;
	file->real = (sqlite3_file *)(file + 1);
	r = system_vfs->xOpen(system_vfs, name, file->real, flags, ret_flags);
	/* Set: SQLite closes the file, also after an error. */
	f->pMethods = file->real->pMethods ? &methods : NULL;
	return r;
}

static void add_vfs(void)
{
	static sqlite3_vfs vfs;

	system_vfs = sqlite3_vfs_find(NULL);
	vfs = *system_vfs;
	vfs.zName = "sonda";
	vfs.szOsFile = (int)sizeof(struct file) + system_vfs->szOsFile;
	vfs.xOpen = vfs_open;
	sqlite3_vfs_register(&vfs, 1);
}

/* ---- the shell ---- */

static int print_row(void *ctx, int n, char **values, char **names)
{
	(void)ctx, (void)names;
	for (int i = 0; i < n; i++)
		printf("%s%c", values[i] ? values[i] : "", i == n - 1 ? '\n' : '|');
	return 0;
}

static int run_line(sqlite3 *db, const char *sql)
{
	char *error = NULL;
	int r = sqlite3_exec(db, sql, print_row, NULL, &error);

	if (r != SQLITE_OK)
		fprintf(stderr, "%s\n", error);
	sqlite3_free(error);
	return r == SQLITE_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t size = 0;
	sqlite3 *db;
	int r = 0;

	sonda_init(NULL);
	sonda_wait_connected(1000);
	add_vfs();
	if (sqlite3_open(argc > 1 ? argv[1] : ":memory:", &db) != SQLITE_OK) {
		fprintf(stderr, "%s\n", sqlite3_errmsg(db));
		return 1;
	}
	sqlite3_trace_v2(db, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, on_trace, NULL);
	sqlite3_busy_handler(db, on_busy, NULL);
	while (getline(&line, &size, stdin) > 0)
		r |= run_line(db, line);
	free(line);
	sqlite3_close(db);
	return r;
}

/* A simulated libibverbs.so.1: the entry points that hostagent calls, answered from a table.
 *
 * The table is stub-verbs.table beside the library. Its lines are
 *
 *     device NAME              one that ibv_get_device_list has
 *     CALL WHERE ACTION        the first line that matches decides; "#" begins a comment
 *
 * CALL is list, open, query or close; WHERE is "*", a device, or for query a device and its port (mlx5_0:1). ACTION is one of
 *
 *     port S MAX ACTIVE   of query: the numbers of the state, the largest and the active MTU
 *     error N             the call fails with that errno
 *     hang                never returns
 *     crash               a segmentation fault
 *     sleep S             the built-in answer, S seconds late
 *     write PATH          fails with the errno of opening PATH for writing; the built-in answer where that is possible
 *     socket FAMILY       the same of a raw socket of that family
 *     set NAME            fails with EEXIST where the environment has that name
 *
 * The built-in answer of query is an active port with an MTU of 4096 bytes. A device that is open when another one is opened is EMFILE:
 * who asks has to close. With -DOLD there is no ibv_reg_dmabuf_mr, with -DBROKEN no ibv_query_port.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINES = 1024, DEVICES = 256, BUILT_IN = -1 };

struct device { char name[64]; };

static char lines[LINES][256];
static struct device devices[DEVICES], *list[DEVICES + 1];
static int line_count, device_count, opened;

static void read_table(void)
{
    char path[PATH_MAX];
    Dl_info library;
    FILE *file = NULL;
    if (dladdr((void *)read_table, &library)) {
        const char *slash = strrchr(library.dli_fname, '/');
        snprintf(path, sizeof path, "%.*s/stub-verbs.table", slash ? (int)(slash - library.dli_fname) : 0, library.dli_fname);
        file = fopen(path, "r");
    }
    line_count = device_count = 0;
    while (file && line_count < LINES && fgets(lines[line_count], sizeof lines[0], file)) {
        lines[line_count][strcspn(lines[line_count], "#\n")] = 0;
        if (device_count < DEVICES && sscanf(lines[line_count], "device %63s", devices[device_count].name) == 1) {
            list[device_count] = &devices[device_count];
            device_count++;
        }
        line_count++;
    }
    list[device_count] = NULL;
    if (file)
        fclose(file);
}

/* 0 or an errno, BUILT_IN without a line that says so; numbers[0] is -1 where the table has none. */
static int answer(const char *call, const char *where, int *numbers)
{
    char name[16], at[64], text[128];
    int used, number, file;
    for (int i = 0; i < line_count; i++) {
        used = 0;
        if (sscanf(lines[i], "%15s %63s %n", name, at, &used) != 2 || !used || strcmp(name, call) || (strcmp(at, "*") && strcmp(at, where)))
            continue;
        const char *action = lines[i] + used;
        if (numbers && sscanf(action, "port %d %d %d", numbers, numbers + 1, numbers + 2) == 3)
            return 0;
        if (sscanf(action, "error %d", &number) == 1)
            return number;
        if (!strncmp(action, "hang", 4))
            for (;;)
                pause();
        if (!strncmp(action, "crash", 5))
            raise(SIGSEGV);
        if (!strncmp(action, "sleep ", 6))
            usleep((useconds_t)(atof(action + 6) * 1e6));
        if (sscanf(action, "write %127s", text) == 1) {
            if ((file = open(text, O_RDWR | O_CLOEXEC)) < 0)
                return errno;
            close(file);
        }
        if (sscanf(action, "socket %d", &number) == 1) {
            if ((file = socket(number, SOCK_RAW, 20)) < 0)
                return errno;
            close(file);
        }
        if (sscanf(action, "set %127s", text) == 1 && getenv(text))
            return EEXIST;
        return BUILT_IN;
    }
    return BUILT_IN;
}

struct device **ibv_get_device_list(int *count)
{
    read_table();
    int problem = answer("list", "*", NULL);
    if (problem > 0) {
        errno = problem;
        return NULL;
    }
    *count = device_count;
    return list;
}

const char *ibv_get_device_name(struct device *device)
{
    return device->name;
}

struct device *ibv_open_device(struct device *device)
{
    int problem = opened ? EMFILE : answer("open", device->name, NULL);
    if (problem > 0) {
        errno = problem;
        return NULL;
    }
    opened++;
    return device;
}

#ifndef BROKEN
int ibv_query_port(struct device *context, uint8_t port, uint32_t *attributes)
{
    char where[80];
    int numbers[3] = {4, 5, 5};
    snprintf(where, sizeof where, "%s:%d", context->name, port);
    int problem = answer("query", where, numbers);
    if (problem > 0)
        return problem;
    for (int i = 0; i < 3; i++)
        attributes[i] = (uint32_t)numbers[i];
    return 0;
}
#endif

int ibv_close_device(struct device *context)
{
    opened--;
    int problem = answer("close", context->name, NULL);
    return problem > 0 ? problem : 0;
}

#ifndef OLD
void *ibv_reg_dmabuf_mr(void) { return NULL; }
#endif

/* A simulated libnvidia-ml.so.1: the entry points that pynvml calls for us, answered from a table.
 *
 * The table is /usr/share/nvidia/stub-nvml.table, or stub-nvml.table beside the library; read again at each nvmlInit. Its lines are
 *
 *     CALL INDEX ACTION        the first line that matches decides; CALL and INDEX may be "*"; "#" begins a comment
 *
 * CALL is NVML's name without "nvml" and version suffix (DeviceGetName). ACTION is one of
 *
 *     value TEXT        success; TEXT is the string, or the numbers in the order of the call's results
 *     error N           nvmlReturn_t N
 *     hang              never returns
 *     crash             a segmentation fault
 *     sleep S           the built-in answer, S seconds late
 *     node PATH         the built-in answer; makes the character device PATH (195:0), as the real one makes missing nodes
 *     attack WHAT       success; the string is what came of it: see attacks.c
 *     after N ACTION    ACTION, once this GPU has answered N calls
 *
 * A call that no line matches gets its built-in answer: a healthy H100. With -DOLD the newest entry points are missing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

const char *attack(const char *text);

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };
enum { SYSTEM = -1, GPUS = 64, LINES = 512 };

static char lines[LINES][256];
static int line_count, initialised;
static unsigned calls_to[GPUS];

static void read_table(void)
{
    char path[PATH_MAX] = "/usr/share/nvidia/stub-nvml.table";
    Dl_info library;
    FILE *file = fopen(path, "r");
    if (!file && dladdr((void *)read_table, &library)) {
        const char *slash = strrchr(library.dli_fname, '/');
        snprintf(path, sizeof path, "%.*s/stub-nvml.table", slash ? (int)(slash - library.dli_fname) : 0, library.dli_fname);
        file = fopen(path, "r");
    }
    line_count = 0;
    while (file && line_count < LINES && fgets(lines[line_count], sizeof lines[0], file)) {
        lines[line_count][strcspn(lines[line_count], "#\n")] = 0;
        line_count++;
    }
    if (file)
        fclose(file);
}

/* The return code of this call; *value is the table's text, or `builtin`. */
static int answer(const char *call, int index, const char *builtin, const char **value)
{
    char name[64], at[16];
    int used;
    unsigned before = index >= 0 && index < GPUS ? calls_to[index]++ : 0;
    *value = builtin;
    for (int i = 0; i < line_count; i++) {
        if (sscanf(lines[i], "%63s %15s %n", name, at, &used) != 2)
            continue;
        if ((strcmp(name, "*") && strcmp(name, call)) || (strcmp(at, "*") && atoi(at) != index))
            continue;
        const char *action = lines[i] + used;
        unsigned wanted;
        if (sscanf(action, "after %u %n", &wanted, &used) == 1) {
            if (before < wanted)
                continue;
            action += used;
        }
        if (!strncmp(action, "value ", 6))
            *value = action + 6;
        else if (!strncmp(action, "error ", 6))
            return atoi(action + 6);
        else if (!strncmp(action, "hang", 4))
            for (;;)
                pause();
        else if (!strncmp(action, "crash", 5))
            raise(SIGSEGV);
        else if (!strncmp(action, "sleep ", 6))
            usleep((useconds_t)(atof(action + 6) * 1e6));
        else if (!strncmp(action, "node ", 5))
            mknod(action + 5, S_IFCHR | 0666, makedev(195, 0)); /* as for a node that is missing */
        else if (!strncmp(action, "attack ", 7))
            *value = attack(action + 7);
        break;
    }
    return OK;
}

/* The number at `position` of a text of numbers; the last one stands for all that follow. */
static unsigned long long number(const char *text, int position)
{
    char *end;
    unsigned long long found = strtoull(text, &end, 0);
    while (position-- > 0 && *end)
        found = strtoull(end, &end, 0);
    return found;
}

static int index_of(void *device) { return (int)(long)device - 1; }

static int text(const char *call, int index, const char *builtin, char *out, unsigned size)
{
    const char *value;
    int code = answer(call, index, builtin, &value);
    if (code == OK && strlen(value) >= size)
        return INSUFFICIENT_SIZE;
    if (code == OK)
        strcpy(out, value);
    return code;
}

static int one(const char *call, void *device, const char *builtin, int position, unsigned *out)
{
    const char *value;
    int code = answer(call, index_of(device), builtin, &value);
    *out = (unsigned)number(value, position);
    return code;
}

static int wide(const char *call, void *device, const char *builtin, int position, unsigned long long *out)
{
    const char *value;
    int code = answer(call, index_of(device), builtin, &value);
    *out = number(value, position);
    return code;
}

static int several(const char *call, void *device, const char *builtin, int count, unsigned *out[])
{
    const char *value;
    int code = answer(call, index_of(device), builtin, &value);
    for (int i = 0; i < count; i++)
        *out[i] = (unsigned)number(value, i);
    return code;
}

/* What NVIDIA's library does to a control node that exists, at every start (seen under strace, 550.163.01). */
static void tidy(void)
{
    struct stat node;
    if (stat("/dev/nvidiactl", &node))
        return;
    if ((node.st_mode & 0777) != 0666 && (chmod("/dev/nvidiactl", 0666) || chown("/dev/nvidiactl", 0, 0)))
        return;
    if (!unlink("/dev/char/195:255") && symlink("../nvidiactl", "/dev/char/195:255"))
        return;
}

int nvmlInitWithFlags(unsigned flags)
{
    const char *value;
    (void)flags;
    read_table();
    tidy();
    memset(calls_to, 0, sizeof calls_to);
    int code = answer("Init", SYSTEM, "", &value);
    initialised = code == OK;
    return code;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void)
{
    const char *value;
    return initialised ? answer("Shutdown", SYSTEM, "", &value) : UNINITIALIZED;
}

const char *nvmlErrorString(int code) { return code == 999 ? "Unknown Error" : "simulated error"; }

int nvmlSystemGetDriverVersion(char *out, unsigned size) { return text("SystemGetDriverVersion", SYSTEM, "580.95.05", out, size); }
int nvmlSystemGetNVMLVersion(char *out, unsigned size) { return text("SystemGetNVMLVersion", SYSTEM, "13.580.95.05", out, size); }
int nvmlSystemGetCudaDriverVersion(int *out) { return one("SystemGetCudaDriverVersion", 0, "13000", 0, (unsigned *)out); }
int nvmlDeviceGetCount_v2(unsigned *out) { return initialised ? one("DeviceGetCount", 0, "8", 0, out) : UNINITIALIZED; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    const char *value;
    *out = (void *)(long)(index + 1);
    return index < GPUS ? answer("DeviceGetHandleByIndex", (int)index, "", &value) : INVALID;
}

int nvmlDeviceGetName(void *d, char *out, unsigned size) { return text("DeviceGetName", index_of(d), "NVIDIA H100 80GB HBM3", out, size); }
int nvmlDeviceGetVbiosVersion(void *d, char *out, unsigned size) { return text("DeviceGetVbiosVersion", index_of(d), "96.00.99.00.01", out, size); }

int nvmlDeviceGetUUID(void *d, char *out, unsigned size)
{
    char builtin[64];
    snprintf(builtin, sizeof builtin, "GPU-%08x-0000-4000-8000-000000000000", index_of(d));
    return text("DeviceGetUUID", index_of(d), builtin, out, size);
}

int nvmlDeviceGetSerial(void *d, char *out, unsigned size)
{
    char builtin[32];
    snprintf(builtin, sizeof builtin, "165202300%04d", index_of(d));
    return text("DeviceGetSerial", index_of(d), builtin, out, size);
}

struct pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
};

int nvmlDeviceGetPciInfo_v3(void *d, struct pci *out)
{
    const char *value;
    char builtin[32];
    snprintf(builtin, sizeof builtin, "00000000:%02X:00.0", index_of(d) + 1);
    int code = answer("DeviceGetPciInfo", index_of(d), builtin, &value);
    memset(out, 0, sizeof *out);
    sscanf(value, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    snprintf(out->address, sizeof out->address, "%s", value);
    snprintf(out->legacy, sizeof out->legacy, "%04X:%02X:%02X.0", out->domain & 0xffff, out->bus, out->device);
    out->device_id = 0x233010de;
    out->subsystem_id = 0x16c110de;
    return code;
}

int nvmlDeviceGetMinorNumber(void *d, unsigned *out)
{
    char builtin[16];
    snprintf(builtin, sizeof builtin, "%d", index_of(d));
    return one("DeviceGetMinorNumber", d, builtin, 0, out);
}

int nvmlDeviceGetMemoryInfo(void *d, unsigned long long out[3])
{
    out[1] = out[2] = 0;
    return wide("DeviceGetMemoryInfo", d, "85520809984", 0, &out[0]);
}

int nvmlDeviceGetCudaComputeCapability(void *d, unsigned *major, unsigned *minor)
{
    return several("DeviceGetCudaComputeCapability", d, "9 0", 2, (unsigned *[]){major, minor});
}

int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *next) { return several("DeviceGetMigMode", d, "0 0", 2, (unsigned *[]){now, next}); }
int nvmlDeviceGetEccMode(void *d, unsigned *now, unsigned *next) { return several("DeviceGetEccMode", d, "1 1", 2, (unsigned *[]){now, next}); }

int nvmlDeviceGetRemappedRows(void *d, unsigned *correctable, unsigned *uncorrectable, unsigned *pending, unsigned *failed)
{
    return several("DeviceGetRemappedRows", d, "0 0 0 0", 4, (unsigned *[]){correctable, uncorrectable, pending, failed});
}

int nvmlDeviceGetPersistenceMode(void *d, unsigned *out) { return one("DeviceGetPersistenceMode", d, "1", 0, out); }
int nvmlDeviceGetComputeMode(void *d, unsigned *out) { return one("DeviceGetComputeMode", d, "0", 0, out); }
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *out) { return one("DeviceGetEnforcedPowerLimit", d, "700000", 0, out); }
int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *out) { return one("DeviceGetPowerManagementDefaultLimit", d, "700000", 0, out); }
int nvmlDeviceGetTemperature(void *d, unsigned sensor, unsigned *out) { return one("DeviceGetTemperature", d, "35", (int)sensor, out); }
int nvmlDeviceGetTemperatureThreshold(void *d, unsigned kind, unsigned *out) { return one("DeviceGetTemperatureThreshold", d, "95 92", (int)kind, out); }

/* "VOLATILE AGGREGATE" */
int nvmlDeviceGetTotalEccErrors(void *d, unsigned type, unsigned counter, unsigned long long *out)
{
    (void)type;
    return wide("DeviceGetTotalEccErrors", d, "0 0", (int)counter, out);
}

static int not_on_this_card(const char *call, void *d)
{
    const char *value;
    int code = answer(call, index_of(d), "absent", &value);
    return code == OK && !strcmp(value, "absent") ? NOT_SUPPORTED : code;
}

/* "SINGLE DOUBLE", numbers of pages. Ampere and later remap rows instead. */
int nvmlDeviceGetRetiredPages(void *d, unsigned cause, unsigned *count, unsigned long long *pages)
{
    const char *value;
    int code = answer("DeviceGetRetiredPages", index_of(d), "absent", &value);
    if (code || !strcmp(value, "absent"))
        return code ? code : NOT_SUPPORTED;
    unsigned found = (unsigned)number(value, (int)cause), room = *count;
    *count = found;
    if (!pages)
        return found ? INSUFFICIENT_SIZE : OK;
    for (unsigned i = 0; i < found && i < room; i++)
        pages[i] = i;
    return room < found ? INSUFFICIENT_SIZE : OK;
}

int nvmlDeviceGetRetiredPagesPendingStatus(void *d, unsigned *out)
{
    *out = 0;
    return not_on_this_card("DeviceGetRetiredPagesPendingStatus", d);
}

/* One number a link; as many links as there are numbers. */
int nvmlDeviceGetNvLinkState(void *d, unsigned link, unsigned *out)
{
    const char *value;
    int code = answer("DeviceGetNvLinkState", index_of(d), "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", &value);
    unsigned links = *value != 0;
    for (const char *at = value; *at; at++)
        links += *at == ' ';
    *out = (unsigned)number(value, (int)link);
    return code ? code : link < links ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkErrorCounter(void *d, unsigned link, unsigned counter, unsigned long long *out)
{
    int code = wide("DeviceGetNvLinkErrorCounter", d, "0", (int)link, out);
    if (counter)
        *out = 0;
    return code;
}

/* The status of a GPU to each other one: "chipset not supported" of GeForce cards since Turing. */
int nvmlDeviceGetP2PStatus(void *d, void *other, int way, int *out)
{
    const char *name, *value;
    (void)other, (void)way;
    if (answer("DeviceGetName", index_of(d), "", &name))
        name = "";
    int code = answer("DeviceGetP2PStatus", index_of(d), strstr(name, "GeForce RTX") ? "1" : "0", &value);
    *out = (int)number(value, 0);
    return code;
}

struct field {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned type;
    int code;
    unsigned long long value;
};

int nvmlDeviceGetFieldValues(void *d, int count, struct field *fields)
{
    for (int i = 0; i < count; i++) {
        const char *value;
        fields[i].code = fields[i].id == 230 ? answer("DeviceGetFieldValues", index_of(d), "0", &value) : INVALID;
        fields[i].type = 1;
        fields[i].value = fields[i].code ? 0 : number(value, 0);
    }
    return OK;
}

int nvmlDeviceValidateInforom(void *d)
{
    const char *value;
    return answer("DeviceValidateInforom", index_of(d), "", &value);
}

int nvmlDeviceGetVirtualizationMode(void *d, unsigned long long *out) { return wide("DeviceGetVirtualizationMode", d, "0", 0, out); }

/* "COUNT": the MIG devices that there are. */
int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *out)
{
    unsigned mode = 0;
    int code = one("DeviceGetMigMode", d, "0 0", 0, &mode);
    *out = code == OK && mode ? 7 : 0;
    return code == NOT_SUPPORTED ? OK : code;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned index, void **out)
{
    unsigned count = 0;
    int code = one("DeviceGetMigDeviceHandleByIndex", d, "0", 0, &count);
    *out = d;
    return code ? code : index < count ? OK : NOT_FOUND;
}

/* The addresses that are drained, as sysfs writes them. */
int nvmlDeviceQueryDrainState(struct pci *place, unsigned *out)
{
    const char *value;
    char address[32];
    int code = answer("DeviceQueryDrainState", SYSTEM, "", &value);
    snprintf(address, sizeof address, "%04x:%02x:%02x", place->domain, place->bus, place->device);
    *out = strstr(value, address) != NULL;
    return code;
}

#ifndef OLD

/* "USED RESERVED" */
struct memory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory *out)
{
    const char *value;
    int code = answer("DeviceGetMemoryInfo_v2", index_of(d), "0 629145600", &value);
    if (out->version != (0x2000000 | sizeof *out))
        return VERSION_MISMATCH;
    out->used = number(value, 0);
    out->reserved = number(value, 1);
    return code;
}

/* "COMPUTE GRAPHICS MPS", how many processes of each kind; as many as there is room for, without names. */
static int list_processes(void *d, int kind, unsigned *count, void *out)
{
    const char *value;
    int code = answer("DeviceGetRunningProcesses", index_of(d), "0 0 0", &value);
    unsigned found = (unsigned)number(value, kind), room = *count;
    *count = found;
    if (out && found <= room)
        memset(out, 0, found * 24);
    return code ? code : found > room ? INSUFFICIENT_SIZE : OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, void *out) { return list_processes(d, 0, count, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *count, void *out) { return list_processes(d, 1, count, out); }
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *d, unsigned *count, void *out) { return list_processes(d, 2, count, out); }

/* "SUPPORTED STATE": of the one feature of a vGPU. */
struct feature {
    unsigned code, state;
    char license[128], product[128];
    unsigned enabled;
    unsigned expiry[4];
};

struct features {
    int supported;
    unsigned count;
    struct feature features[3];
};

int nvmlDeviceGetGridLicensableFeatures_v4(void *d, struct features *out)
{
    const char *value;
    int code = answer("DeviceGetGridLicensableFeatures", index_of(d), "0 0", &value);
    memset(out, 0, sizeof *out);
    out->supported = (int)number(value, 0);
    out->count = out->supported ? 1 : 0;
    out->features[0].code = 1;
    out->features[0].state = (unsigned)number(value, 1);
    return code;
}

/* "ENVIRONMENT FEATURE DEVELOPER_TOOLS", and whether the GPUs take work. */
int nvmlSystemGetConfComputeState(unsigned out[3])
{
    const char *value;
    int code = answer("SystemGetConfComputeState", SYSTEM, "0 0 0", &value);
    for (int i = 0; i < 3; i++)
        out[i] = (unsigned)number(value, i);
    return code;
}

int nvmlSystemGetConfComputeGpusReadyState(unsigned *out) { return one("SystemGetConfComputeGpusReadyState", 0, "0", 0, out); }

int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *out) { return wide("DeviceGetCurrentClocksEventReasons", d, "0", 0, out); }

/* The threshold flag first, then the counters of the struct in its order. */
struct sram {
    unsigned version;
    unsigned long long counters[11];
    unsigned threshold_exceeded;
};

int nvmlDeviceGetSramEccErrorStatus(void *d, struct sram *out)
{
    const char *value;
    int code = answer("DeviceGetSramEccErrorStatus", index_of(d), "0 0", &value);
    if (out->version != (0x1000000 | sizeof *out))
        return VERSION_MISMATCH;
    out->threshold_exceeded = (unsigned)number(value, 0);
    for (int i = 0; i < 11; i++)
        out->counters[i] = number(value, i + 1);
    return code;
}

/* "STATE STATUS CLIQUE HEALTH_MASK", NVML's own numbers. */
struct fabric {
    unsigned version;
    unsigned char cluster[16];
    unsigned status, clique, state, health;
};

int nvmlDeviceGetGpuFabricInfoV(void *d, struct fabric *out)
{
    const char *value;
    int code = answer("DeviceGetGpuFabricInfoV", index_of(d), "3 0 0 0x51aa", &value);
    if (out->version != (0x2000000 | sizeof *out))
        return VERSION_MISMATCH;
    out->state = (unsigned)number(value, 0);
    out->status = (unsigned)number(value, 1);
    out->clique = (unsigned)number(value, 2);
    out->health = (unsigned)number(value, 3);
    memset(out->cluster, out->state == 3 ? 0xc1 : 0, sizeof out->cluster);
    return code;
}

#endif

/*
 * Makes the Node.js that loads it one without external buffers, as Electron is: asked for one, it answers as Electron does. An addon
 * that is loaded afterwards has to copy.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int refused;

/* What Electron answers: napi_no_external_buffers_allowed. */
static int answer(void) {
  atomic_fetch_add(&refused, 1);
  return 22;
}

/* The proof that the addon asked. */
__attribute__((destructor)) static void report(void) { printf("%d external buffers refused\n", atomic_load(&refused)); }

/* Puts a jump to `answer` in the place of a function. */
static int replace(const char *name) {
  unsigned char *function = dlsym(RTLD_DEFAULT, name);
  if (function == NULL) return 0;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void *start = (void *)((uintptr_t)function & ~(page - 1));
  if (mprotect(start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 0;
  uint64_t target = (uint64_t)(uintptr_t)&answer;
#if defined(__x86_64__)
  memcpy(function, "\x48\xb8", 2); /* mov rax, target */
  memcpy(function + 2, &target, 8);
  memcpy(function + 10, "\xff\xe0", 2); /* jmp rax */
#elif defined(__aarch64__)
  memcpy(function, "\x50\x00\x00\x58\x00\x02\x1f\xd6", 8); /* ldr x16, target; br x16 */
  memcpy(function + 8, &target, 8);
#endif
  __builtin___clear_cache((char *)function, (char *)function + 16);
  return mprotect(start, 2 * page, PROT_READ | PROT_EXEC) == 0;
}

void *napi_register_module_v1(void *env, void *exports) {
  (void)env;
  return replace("napi_create_external_buffer") && replace("napi_create_external_arraybuffer") ? exports : NULL;
}

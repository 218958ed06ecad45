// Runs a program step by step, and writes its taken branches: what a processor with branch records
// would see. x86-64 only.
//
// usage: taken_branches OUT PROGRAM [ARG]...
//
// OUT gets pairs of 8 bytes, little-endian: the address of the branch and of its target. The first
// pair is not a branch: the base address of the program, and its process id.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what) {
  perror(what);
  exit(99);
}

// The length of the branch at `code`, 0 if it is no branch. 255: it is always taken.
static unsigned branch_length(const uint8_t *code) {
  unsigned prefixes = 0;
  while (code[prefixes] == 0xf2 || code[prefixes] == 0xf3 || code[prefixes] == 0x3e ||
         (code[prefixes] & 0xf0) == 0x40)
    prefixes++;
  const uint8_t *op = code + prefixes;
  if (op[0] >= 0x70 && op[0] <= 0x7f) return prefixes + 2;
  if (op[0] >= 0xe0 && op[0] <= 0xe3) return prefixes + 2;
  if (op[0] == 0x0f && (op[1] & 0xf0) == 0x80) return prefixes + 6;
  if (op[0] == 0xe8 || op[0] == 0xe9 || op[0] == 0xeb || op[0] == 0xc2 || op[0] == 0xc3) return 255;
  if (op[0] == 0xff) {
    unsigned kind = op[1] >> 3 & 7;
    if (kind >= 2 && kind <= 5) return 255;
  }
  return 0;
}

// The lowest address at which the process has mapped the program.
static uint64_t base_of(pid_t process, const char *program) {
  char name[64], line[4096], real[4096];
  snprintf(name, sizeof name, "/proc/%d/maps", process);
  if (!realpath(program, real)) die(program);
  FILE *maps = fopen(name, "r");
  if (!maps) die(name);
  uint64_t base = 0;
  while (!base && fgets(line, sizeof line, maps))
    if (strstr(line, real)) base = strtoull(line, NULL, 16);
  fclose(maps);
  return base;
}

int main(int argc, char **argv) {
  if (argc < 3) return 99;
  FILE *out = fopen(argv[1], "wb");
  if (!out) die(argv[1]);
  pid_t process = fork();
  if (process == 0) {
    personality(ADDR_NO_RANDOMIZE);
    if (ptrace(PTRACE_TRACEME, 0, 0, 0)) die("ptrace");
    execv(argv[2], argv + 2);
    die(argv[2]);
  }
  int status;
  if (waitpid(process, &status, 0) < 0 || !WIFSTOPPED(status)) return 99;
  uint64_t pair[2] = {base_of(process, argv[2]), process};
  fwrite(pair, sizeof pair, 1, out);
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/mem", process);
  int memory = open(name, O_RDONLY);
  if (memory < 0) die(name);
  uint64_t from = 0, next = 0;
  for (;;) {
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, process, 0, &regs)) die("registers");
    if (from && (next == 0 || regs.rip != next)) {
      pair[0] = from;
      pair[1] = regs.rip;
      fwrite(pair, sizeof pair, 1, out);
    }
    from = 0;
    uint8_t code[16] = {0};
    if (pread(memory, code, sizeof code, regs.rip) > 0) {
      unsigned length = branch_length(code);
      if (length) {
        from = regs.rip;
        next = length == 255 ? 0 : regs.rip + length;
      }
    }
    if (ptrace(PTRACE_SINGLESTEP, process, 0, 0)) die("step");
    if (waitpid(process, &status, 0) < 0) die("wait");
    if (WIFEXITED(status) || WIFSIGNALED(status)) break;
  }
  return fclose(out) || !WIFEXITED(status) ? 99 : WEXITSTATUS(status);
}
